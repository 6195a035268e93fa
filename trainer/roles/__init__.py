"""What each process of a cluster does: chief, worker, parameter server, evaluator."""
