"""networkx over our arrays."""

import pytest
from libraries import assert_same, lines

pytest.importorskip("networkx")

pytestmark = pytest.mark.once

SETUP = """
import networkx as nx, scipy.sparse as sp
x = np.array([1.,2.,3.,4.]); k = np.array([1,2,3]); g = np.arange(6.).reshape(2,3)
A = np.array([[0,1,0],[1,0,1],[0,1,0]]); E = np.array([[0,1],[1,2]])
"""

LINES = """
    nx.from_numpy_array(A).edges
    nx.from_numpy_array(A, create_using=nx.DiGraph).edges(data=True)
    nx.to_numpy_array(nx.path_graph(3)) @ np.eye(3)
    nx.pagerank(nx.from_numpy_array(A))
    nx.spring_layout(nx.path_graph(4), seed=np.random.RandomState(0))
    nx.spring_layout(nx.path_graph(2), pos={0:x[:2],1:x[2:]}, seed=1)
    nx.Graph(A).edges
    nx.Graph(np.array([[0,5],[5,0]])).edges(data=True)
    nx.to_networkx_graph(A, create_using=nx.DiGraph).edges(data=True)
    nx.gnp_random_graph(5,.5,seed=np.random.RandomState(0)).edges
    nx.gnp_random_graph(k[1],x[0]/2,seed=0).edges
    nx.path_graph(k[1]).nodes
    nx.Graph([(k[0],k[1])]).edges
    G=nx.Graph(); G.add_weighted_edges_from([(0,1,x[0]),(1,2,x[1])]); nx.dijkstra_path_length(G,0,2)
    G=nx.Graph(); G.add_weighted_edges_from([(0,1,x[0]),(1,2,x[1])]); nx.to_numpy_array(G)
    G=nx.Graph(); G.add_edges_from(E); sorted(G.nodes)
    nx.laplacian_matrix(nx.from_numpy_array(A)).toarray()
    nx.adjacency_spectrum(nx.from_numpy_array(A)).real.round(4)
    nx.from_scipy_sparse_array(sp.csr_array(A)).edges
"""


@pytest.mark.parametrize("line", lines(LINES))
def test_as_numpys(line):
    assert_same(line, SETUP)
