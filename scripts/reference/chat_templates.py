"""What transformers renders:  python scripts/reference/chat_templates.py < asked.json > rendered.json

Asked: {"templates": [source], "renders": [{"template": index, "messages", "tools", "add_generation_prompt", "variables"}]}. Rendered: a list, of each
render {"text"} or {"error"}. scripts/check-templates.mjs asks.
"""

import json
import sys
import warnings

from transformers.utils.chat_template_utils import render_jinja_template


def rendered(templates, asked):
    try:
        [text], _ = render_jinja_template(
            conversations=[asked['messages']],
            tools=asked['tools'],
            chat_template=templates[asked['template']],
            add_generation_prompt=asked['add_generation_prompt'],
            **asked['variables'],
        )
        return {'text': text}
    except Exception as error:  # every kind of refusal is a result
        return {'error': f'{type(error).__name__}: {error}'}


def main():
    warnings.simplefilter('ignore')
    asked = json.load(sys.stdin)
    json.dump([rendered(asked['templates'], one) for one in asked['renders']], sys.stdout)


if __name__ == '__main__':
    main()
