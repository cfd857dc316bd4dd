"""Verse letter by letter: a GRU reads a poem until it can say it by heart, from its first words."""

from dflow import autograd, gluon, np, npx
from dflow.gluon import nn, rnn

SMALL, FULL = 30, 60       # times that the poem is read
POEM = """Tyger Tyger, burning bright,
In the forests of the night;
What immortal hand or eye,
Could frame thy fearful symmetry?

In what distant deeps or skies
Burnt the fire of thine eyes?
On what wings dare he aspire?
What the hand, dare seize the fire?

And what shoulder, and what art,
Could twist the sinews of thy heart?
And when thy heart began to beat,
What dread hand? and what dread feet?

What the hammer? what the chain,
In what furnace was thy brain?
What the anvil? what dread grasp,
Dare its deadly terrors clasp?

When the stars threw down their spears
And water'd heaven with their tears:
Did he smile his work to see?
Did he who made the Lamb make thee?
"""                         # William Blake, 1794

npx.set_np()


class Reader(nn.Block):
    """Of each letter, what it thinks of those that may follow; and what it has in mind then."""

    def __init__(self, letters, units=128):
        super().__init__()
        self.embedding = nn.Embedding(letters, 32)
        self.rnn = rnn.GRU(units)
        self.out = nn.Dense(letters, flatten=False)

    def forward(self, text, states):
        y, states = self.rnn(self.embedding(text), states)
        return self.out(y), states


def parts(text, batch, steps):
    """Pairs of letters and those that follow, of shape (steps, batch): each goes on where the one before has ended."""
    length = (len(text) - 1) // batch
    before, after = (np.array(text[k:k + batch * length]).reshape(batch, length).T for k in (0, 1))
    return [(before[k:k + steps], after[k:k + steps]) for k in range(0, length, steps)]


def say(net, first, letters, length):
    """The first words, and what comes to mind after them."""
    said, states = list(first), net.rnn.begin_state(batch_size=1)
    for letter in first[:-1]:
        _, states = net(np.array([[letters.index(letter)]]), states)
    while len(said) < length:
        thought, states = net(np.array([[letters.index(said[-1])]]), states)
        said.append(letters[int(thought.argmax())])
    return "".join(said)


def main(times, batch=8, steps=14):
    np.random.seed(1)
    letters = sorted(set(POEM))
    text = parts([letters.index(letter) for letter in POEM], batch, steps)
    net, loss = Reader(len(letters)), gluon.loss.SoftmaxCrossEntropyLoss()
    net.initialize()
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.01})
    surprise = []
    for _ in range(times):
        states, errors = net.rnn.begin_state(batch_size=batch), []
        for before, after in text:
            states = [state.detach() for state in states]
            with autograd.record():
                thought, states = net(before, states)
                error = loss(thought, after).mean()
            error.backward()
            trainer.step(1)
            errors.append(error)
        surprise.append(np.stack(errors).mean())        # pending: nothing has waited so far
    return np.exp(np.stack(surprise)), say(net, "Tyger", letters, 120)


if __name__ == "__main__":
    perplexity, verse = main(FULL)
    for k in range(9, len(perplexity), 10):
        print(f"read {k + 1} times: perplexity {float(perplexity[k]):.2f}")
    print(verse)
