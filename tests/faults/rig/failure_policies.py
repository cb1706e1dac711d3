"""A policy for each failure rule, by its name: 10 units that do not come back during a test. With five nodes, `share`
admits two on each."""

FAILURE_POLICIES = """
policies:
  - id: open
    resource: /open
    limits: [{ name: units, per: [key], rate: 10/366d }]
    on_failure: open
    deadline: 2s
  - id: closed
    resource: /closed
    limits: [{ name: units, per: [key], rate: 10/366d }]
    on_failure: closed
    deadline: 2s
  - id: local
    resource: /local
    limits: [{ name: units, per: [key], rate: 10/366d }]
    on_failure: local
    local: { rate: 3/366d, burst: 3 }
    deadline: 2s
  - id: share
    resource: /share
    limits: [{ name: units, per: [key], rate: 10/366d }]
    on_failure: local
    deadline: 2s
"""
