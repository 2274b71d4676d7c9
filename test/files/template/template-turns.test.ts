// Conversations of clients that do not adapt to a model, for templates with restrictions: those of Mistral, of Llama 3, and of
// models without system messages.

import { describe, expect, it } from 'vitest';
import { openChatTemplate } from '../../../src/files/template/template.ts';
import type { TemplateMessage } from '../../../src/files/template/template-messages.ts';

const MISTRAL = `{%- set said = messages[1:] if messages[0].role == 'system' else messages %}
{%- set ns = namespace(index=0) %}
{%- for m in said %}{%- if m.role != 'tool' and not m.tool_calls %}
  {%- if (m.role == 'user') != (ns.index % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}
  {%- set ns.index = ns.index + 1 %}
{%- endif %}{%- endfor %}
{%- if messages[0].role == 'system' %}{{ messages[0].content + '|' }}{% endif %}
{%- for m in said %}
  {%- if m.role == 'user' %}{{ '[INST]' + m.content + '[/INST]' }}
  {%- elif m.tool_calls %}{%- for c in m.tool_calls %}
    {%- if c.id is not defined or c.id|length != 9 %}{{ raise_exception('ids have length 9') }}{% endif %}
    {{- '[TOOL_CALLS]' + c.function.name + (c.function.arguments | tojson) + c.id }}
  {%- endfor %}
  {%- elif m.role == 'tool' %}
    {%- if m.tool_call_id is not defined or m.tool_call_id|length != 9 %}{{ raise_exception('ids have length 9') }}{% endif %}
    {{- '[TOOL_RESULTS]' + m.content + m.tool_call_id }}
  {%- elif m.role == 'assistant' %}{{ m.content }}
  {%- else %}{{ raise_exception('only user and assistant') }}{% endif %}
{%- endfor %}`;

const LLAMA = `{% for m in messages %}{% if m.tool_calls %}
{%- if m.tool_calls|length != 1 %}{{ raise_exception('one call at once') }}{% endif %}
{{- '<' + m.tool_calls[0].function.name + (m.tool_calls[0].function.arguments | tojson) + '>' }}
{%- else %}{{ m.role + ':' + m.content + ' ' }}{% endif %}{% endfor %}`;

const NO_SYSTEM = `{% for m in messages %}{% if m.role == 'system' %}{{ raise_exception('no system') }}{% endif %}
{{- m.role + ':' + m.content + ' ' }}{% endfor %}`;

const render = (source: string, messages: TemplateMessage[]): string =>
  openChatTemplate({ default: source }, {}).render({ messages });

const user = (content: string) => ({ role: 'user', content });
const called = (...ids: (string | undefined)[]) => ({
  role: 'assistant',
  content: null,
  tool_calls: ids.map((id, at) => ({ ...(id && { id }), function: { name: `f${at}`, arguments: '{}' } })),
});
const result = (content: string, id?: string) => ({ role: 'tool', content, ...(id && { tool_call_id: id }) });

describe('ids of calls in a template', () => {
  const ids = (text: string) => [...text.matchAll(/(?:\}|\bone|\btwo)([a-z0-9]{9})/gi)].map(([, id]) => id);

  it('are shortened for a template that wants them short, call and result alike', () => {
    const messages = [
      user('Hi'),
      called('call_6a', 'call_6b'),
      result('two', 'call_6b'),
      result('one', 'call_6a'),
    ];
    const text = render(MISTRAL, messages);
    const [a, b, second, first] = ids(text);
    expect([second, first]).toEqual([b, a]);
    expect(a).not.toBe(b);
    expect(render(MISTRAL, [...messages, { role: 'assistant', content: 'So' }]).startsWith(text)).toBe(true);
  });

  it('are made where a client sends none: results answer the calls in order', () => {
    const [a, b, first, second] = ids(
      render(MISTRAL, [user('Hi'), called(undefined, undefined), result('one'), result('two')]),
    );
    expect([first, second]).toEqual([a, b]);
  });

  it('stay where they fit, and where the template takes any', () => {
    expect(render(MISTRAL, [user('Hi'), called('abcDEF123')])).toContain('f0{}abcDEF123');
    const plain =
      '{{ messages[0].content }}{% for m in messages %}{% for c in m.tool_calls or [] %}{{ c.id }}{{ c.function.arguments | tojson }}{% endfor %}{% endfor %}';
    expect(render(plain, [user('Hi'), called('call_6a')])).toBe('Hicall_6a{}');
  });
});

describe('a template that refuses a conversation gets it', () => {
  it('in turns', () => {
    const system = { role: 'system', content: 'S' };
    expect(render(MISTRAL, [system, user('a'), user('b')])).toBe('S|[INST]a\nb[/INST]');
    expect(render(MISTRAL, [system, user('a'), { role: 'system', content: 'now' }])).toBe(
      'S|[INST]a\nnow[/INST]',
    );
    const answers = ['b', 'c'].map((content) => ({ role: 'assistant', content }));
    expect(render(MISTRAL, [user('a'), ...answers, user('d')])).toBe('[INST]a[/INST]b\nc[INST]d[/INST]');
    expect(render(MISTRAL, [user('a'), called('abcDEF123'), result('r', 'abcDEF123'), user('d')])).toBe(
      '[INST]a[/INST][TOOL_CALLS]f0{}abcDEF123[TOOL_RESULTS]r\ndabcDEF123',
    );
  });

  it('without system messages', () => {
    expect(render(NO_SYSTEM, [{ role: 'system', content: 'S' }, user('a')])).toBe('user:S\na ');
  });

  it('with each call in a message of its own, its result behind it', () => {
    expect(
      render(LLAMA, [user('a'), called('x', 'y'), result('two', 'y'), result('one', 'x'), user('b')]),
    ).toBe('user:a <f0{}>tool:one <f1{}>tool:two user:b ');
  });
});
