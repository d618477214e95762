#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is written is what docs/snapshot.schema.json says, key by key.

usage: check_schema.py SCHEMA PRINT-SAMPLE

Readers ignore keys that they do not know, and so does the schema; here a key that
it does not name is a fault, and so is one that it names and nobody writes.
"""

import copy
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print('skipped: no python3-jsonschema')
    sys.exit(77)


def strict(schema):
    """The same, but keys without a name are not allowed."""
    if isinstance(schema, dict):
        found = {k: strict(v) for k, v in schema.items()}
        if isinstance(found.get('properties'), dict) and 'type' in found:
            found['additionalProperties'] = False
            found['required'] = list(found['properties'])
        return found
    if isinstance(schema, list):
        return [strict(s) for s in schema]
    return schema


def no_constant(text):
    raise ValueError(f'{text} is no JSON')


def validator(schema):
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    return kind(schema)


def faults_of(schema, document):
    return [f'{"/".join(map(str, e.absolute_path))}: {e.message[:200]}'
            for e in validator(schema).iter_errors(document)]


def self_test(schema, document):
    """It can fail."""
    def changed(change):
        other = copy.deepcopy(document)
        change(other)
        return faults_of(schema, other)

    changes = (
        lambda d: d.update(more=1),
        lambda d: d.pop('devices'),
        lambda d: d['devices'][0].update(cores='64'),
        lambda d: d['devices'][0].update(chip_id='12'),
        lambda d: d['devices'][0]['figures'].pop('cb'),
        lambda d: d['devices'][0]['figures']['cb'].update(live_bytes=-1),
        lambda d: d['processes'][0].update(state='asleep'),
        lambda d: d['objects'][0].update(id=None),
        lambda d: d.update(schema_version=1),
    )
    for number, change in enumerate(changes):
        if not changed(change):
            sys.exit(f'self-test: change {number} was not found')


def main():
    with open(sys.argv[1], encoding='utf-8') as f:
        schema = json.load(f)
    lines = subprocess.run([sys.argv[2]], stdout=subprocess.PIPE,
                           check=True).stdout.decode('utf-8').splitlines()
    documents = [json.loads(line, parse_constant=no_constant)
                 for line in lines]
    faults = []
    for document in documents:
        faults += faults_of(schema, document)
        faults += faults_of(strict(schema), document)
    if len(documents) != 3:
        faults.append(f'{len(documents)} documents')
    for fault in faults:
        print(fault)
    if not faults:
        self_test(strict(schema), documents[0])
    print(f'schema: {len(documents)} documents, {len(faults)} faults')
    return 1 if faults else 0


if __name__ == '__main__':
    sys.exit(main())
