"""matplotlib over our arrays."""

import pytest
from libraries import assert_same, lines

pytest.importorskip("matplotlib")

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def figures_end():
    yield
    from matplotlib import pyplot
    pyplot.close("all")


SETUP = """
import io
import matplotlib; matplotlib.use("Agg")
import matplotlib.colors as mcolors, matplotlib.path as mpath, matplotlib.pyplot as plt
x = np.array([1.,2.,3.,4.]); k = np.array([1,2,3]); g = np.arange(6.).reshape(2,3)
g3 = np.arange(12.).reshape(4,3)/12; g4 = np.arange(8.).reshape(2,4)
def png():
    b = io.BytesIO(); plt.imsave(b, g); b.seek(0); return b
plt.close("all")
fig, ax = plt.subplots()
"""

LINES = """
    ax.plot(x)[0].get_ydata()
    ax.plot(x,x**2)[0].get_xydata()
    ax.plot(x, label=x[0]); ax.legend() is not None
    ax.scatter(x,x,c=x,s=x*10).get_offsets()
    ax.scatter(x,x,c=g3)._facecolors
    ax.hist(x)[0]
    ax.hist(x,bins=k[1])[0]
    ax.hist(x,bins=x)[0]
    ax.hist(g)[0]
    ax.bar(x,x)[0].get_height()
    ax.bar(np.arange(4),x,width=x[0],yerr=x/10)[1].get_height()
    ax.barh(x,x)[0].get_width()
    ax.errorbar(x,x,yerr=x)[0].get_ydata()
    ax.fill_between(x,x,x+1).get_paths()[0].vertices
    ax.imshow(g).get_array()
    ax.imshow(g, vmin=x[0], vmax=x[3], extent=x).get_extent()
    ax.pcolormesh(g).get_array()
    ax.contour(g).levels
    ax.contourf(g, levels=x).levels
    ax.contour(g, levels=k[0]).levels
    ax.quiver(x,x,x,x).U
    ax.streamplot(np.arange(3.),np.arange(2.),g,g) is not None
    ax.boxplot(x)["medians"][0].get_ydata()
    ax.boxplot(g)["medians"][0].get_ydata()
    ax.violinplot(x)["bodies"][0].get_paths()[0].vertices.shape
    ax.pie(x)[0][0].theta2
    ax.stem(x)[0].get_ydata()
    ax.step(x,x)[0].get_ydata()
    ax.axhline(x[0]).get_ydata()
    ax.axvline(x=x[1]).get_xdata()
    ax.hlines(x,0,1).get_segments()
    ax.vlines(x,x[0],x[1]).get_segments()
    ax.set_xlim(x[0],x[3])
    ax.set_xlim(x[:2])
    ax.set_xticks(x); ax.get_xticks()
    ax.set_xticks(x, labels=x); [t.get_text() for t in ax.get_xticklabels()]
    ax.text(x[0],x[1],"a").get_position()
    ax.annotate("a",xy=(x[0],x[1])).xy
    ax.annotate("a",xy=x[:2]).xy
    ax.set_title(f"{x[0]:.2f}").get_text()
    ax.set_title(x[0]).get_text()
    plt.cm.viridis(x/4)
    plt.cm.viridis(x[0]/4)
    plt.get_cmap("viridis", k[0]).N
    plt.Normalize(x[0],x[3])(x)
    plt.Normalize()(x)
    mcolors.to_rgba(x[:3]/4)
    mcolors.ListedColormap(g3/4).N
    mcolors.BoundaryNorm(x, 3)(x)
    mcolors.LogNorm(x[0],x[3])(x)
    plt.Circle(x[:2], x[0]).center
    plt.Polygon(np.array([[0,0],[1,1],[1,0]])).get_xy()
    plt.Rectangle((x[0],x[1]), x[0], x[1]).get_bbox().bounds
    plt.figure(figsize=x[:2]).get_size_inches()
    plt.figure(figsize=(x[0],x[1])).get_size_inches()
    ax.plot(x, alpha=x[0]/2, linewidth=x[1])[0].get_linewidth()
    ax.plot(x, color=x[:3]/4)[0].get_color()
    ax.hist2d(x,x,bins=k[1])[0]
    ax.hexbin(x,x,gridsize=k[1]).get_array()
    ax.eventplot(x)[0].get_positions()
    ax.eventplot(g)[0].get_positions()
    ax.stackplot(x, g4)[0].get_paths()[0].vertices
    ax.matshow(g).get_array()
    ax.spy(g).get_array()
    ax.specgram(np.arange(300.))[0].shape
    ax.psd(np.arange(300.))[0].shape
    ax.table(cellText=g.round(1)).get_celld()[0,0].get_text().get_text()
    ax.tripcolor(np.array([0.,1,0,1]),np.array([0.,0,1,1]),x).get_array()
    fig.add_subplot(111, projection="3d").plot_surface(g,g,g) is not None
    fig.add_subplot(111, projection="3d").scatter(x,x,x) is not None
    fig.savefig(io.BytesIO())
    plt.imsave(io.BytesIO(), g)
    plt.imread(png()).shape
    mpath.Path(np.array([[0,0],[1,1.]])).vertices
    line = ax.plot(x)[0]; line.set_data(x, x*2); line.get_ydata()
    line = ax.plot(x)[0]; line.set_ydata(x*3); line.get_ydata()
    im = ax.imshow(g); im.set_data(g*2); im.get_array()
    im = ax.imshow(g); im.set_clim(x[0],x[1]); im.get_clim()
    sc = ax.scatter(x,x); sc.set_offsets(np.stack([x,x],1)); sc.get_offsets()
    sc = ax.scatter(x,x); sc.set_array(x); sc.get_array()
"""


@pytest.mark.parametrize("line", lines(LINES))
def test_as_numpys(line):
    assert_same(line, SETUP)
