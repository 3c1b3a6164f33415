#!/usr/bin/env python3
"""Makes alike.txt: groups the 20,000 most frequent words of GloVe's vectors by how they are used.

A line is a group of words that stand in like places (k-means, 128 groups), and an empty line ends a family of groups (Ward, 32).
The vectors are "GloVe 6B, 100 dimensions" (Pennington, Socher, Manning: 2014; Wikipedia and Gigaword; public domain, PDDL 1.0), a line
for each word, the most frequent first. Needs scikit-learn:

    alike.py < glove.6B.100d.txt > alike.txt
"""

import re
import sys

import numpy
from sklearn.cluster import AgglomerativeClustering, KMeans

WORDS, GROUPS, FAMILIES = 20_000, 128, 32

words, vectors = [], []
for line in sys.stdin:
    word, *vector = line.split()
    if re.fullmatch(r"[a-z]{2,18}|[ai]", word) and len(words) < WORDS:
        words.append(word)
        vectors.append(numpy.array(vector, dtype=numpy.float32))
directions = numpy.array(vectors)
directions /= numpy.linalg.norm(directions, axis=1, keepdims=True)

groups = KMeans(GROUPS, n_init=2, max_iter=60, random_state=1).fit(directions)
families = AgglomerativeClustering(FAMILIES, linkage="ward").fit(groups.cluster_centers_).labels_
of_group = lambda group: " ".join(word for word, own in zip(words, groups.labels_) if own == group)
of_family = lambda family: "\n".join(of_group(group) for group in range(GROUPS) if families[group] == family)
print("\n\n".join(of_family(family) for family in range(FAMILIES)))
