"""Goldens of Jinja's semantics:  python scripts/reference/jinja.py

test/golden/jinja.json: `variables`, and of each template in jinja_cases.py, rendered as transformers renders chat templates, its text or the
name of the exception it raises.
"""

import json
import warnings
from importlib.metadata import version
from pathlib import Path

from jinja_cases import SOURCES, VARIABLES
from transformers.utils.chat_template_utils import _compile_jinja_template

GOLDEN = Path(__file__).resolve().parents[2] / 'test' / 'golden'


def rendered(source):
    try:
        return {'source': source, 'text': _compile_jinja_template(source).render(**VARIABLES)}
    except Exception as error:  # every kind of refusal is a result
        return {'source': source, 'error': type(error).__name__}


def main():
    warnings.simplefilter('ignore')
    made = {
        'made_by': f'python scripts/reference/jinja.py, transformers {version("transformers")}, Jinja2 {version("Jinja2")}',
        'variables': VARIABLES,
        # The output contains a memory address, which differs from run to run.
        'cases': [case for source in dict.fromkeys(SOURCES) if ' at 0x' not in (case := rendered(source)).get('text', '')],
    }
    text = json.dumps(made, ensure_ascii=True, indent=1)
    (GOLDEN / 'jinja.json').write_text(text + '\n')
    print(len(made['cases']), 'cases,', sum('error' in case for case in made['cases']), 'of them raise')


if __name__ == '__main__':
    main()
