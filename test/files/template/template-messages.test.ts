// A client's messages reach a template as they were sent, with arguments of calls as objects that print as their text.

import { describe, expect, it } from 'vitest';
import { JsonSource } from '../../../src/files/template/jinja/values/from-json.ts';
import { prepareMessages } from '../../../src/files/template/template-messages.ts';
import { openChatTemplate, type ChatRendering } from '../../../src/files/template/template.ts';

const CHATML =
  '{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}{% if m.tool_calls %}{% for c in m.tool_calls %}<call>{{ c.function.name }} {{ c.function.arguments | tojson }}</call>{% endfor %}{% endif %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}';

const render = (source: string, rendering: ChatRendering): string =>
  openChatTemplate({ default: source }, {}).render(rendering);

const hi = [{ role: 'user', content: 'Hi' }];

describe('messages for a template', () => {
  const traits = { roles: new Set<string>(), takesText: true, takesParts: false };
  const call = (args: string | Record<string, unknown>) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'c1', function: { name: 'f', arguments: args } }],
    },
  ];

  it('reach the template as they were sent, with members that nobody knows', () => {
    const sent = [
      { role: 'user', name: 'Ada', content: 'x', weight: 0.5 },
      { role: 'assistant', content: 'y', tool_calls: [], refusal: null },
      { role: 'tool', content: '1', tool_call_id: 'c1', reasoning_content: null },
    ];
    expect(prepareMessages(sent, traits)).toEqual(sent);
    const source = '{{ messages[0].weight }} {{ messages[0].deep[0].x }} {{ messages[0].content }}';
    const messages = [{ role: 'user', content: 'x', weight: 0.5, deep: [{ x: 1 }] }];
    expect(render(source, { messages })).toBe('0.5 1 x');
  });
  it.each(['reasoning_content', 'thinking', 'reasoning'])(
    'have reasoning under the names that templates read: %s',
    (name) => {
      const message = { role: 'assistant', content: 'y', [name]: 'why' };
      expect(prepareMessages([message], traits)).toEqual([
        { ...message, thinking: 'why', reasoning_content: 'why' },
      ]);
    },
  );
  it('carry tool arguments as objects that are printed as the text they came as', () => {
    const prepared = (args: string | Record<string, unknown>) => prepareMessages(call(args), traits);
    expect(prepared('{"a":[1]}')).toEqual([
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', function: { name: 'f', arguments: new JsonSource('{"a":[1]}') } }],
      },
    ]);
    expect(prepared({ a: [1] })).toEqual(prepared('{"a":[1]}'));
    expect(prepared('')).toEqual(prepared({}));
    const printed = (expression: string, args = '{"a":[1.0], "b" : 12345678901234567890}') =>
      render(
        `{{ messages[0].content }}{% set a = messages[0].tool_calls[0].function.arguments if messages[0].tool_calls %}{{ ${expression} }}`,
        {
          messages: call(args),
        },
      );
    expect(printed('a')).toBe('None{"a":[1.0], "b" : 12345678901234567890}');
    expect(printed('a | tojson')).toBe('None{"a": [1.0], "b": 12345678901234567890}');
    expect(printed('a.a[0] ~ a["b"] ~ a.items() | length')).toBe('None1.0123456789012345678902');
    expect(printed("'<' + a + '>'")).toBe('None<{"a":[1.0], "b" : 12345678901234567890}>');
    expect(printed('(a is mapping) ~ (a is string)')).toBe('NoneTrueFalse');
    expect(printed("a | trim ~ '%s' % a", ' {"x": 1}')).toBe('None{"x": 1} {"x": 1}');
    expect(render(CHATML, { messages: call('{"a":[1]}') })).toContain('<call>f {"a": [1]}</call>');
  });
  it('keep arguments as text for a template that prints them alike, object or text', () => {
    const source =
      '{{ messages[0].content }}{% for c in messages[-1].tool_calls or [] %}{% if c.function.arguments is string %}{{ c.function.arguments }}{% else %}{{ c.function.arguments | tojson }}{% endif %}{% endfor %}';
    expect(render(source, { messages: [...hi, ...call('{"a":[1]}')] })).toBe('Hi{"a":[1]}');
  });
  it.each(['{"a":', '[1]', '"x"', 'null'])('keep %j as the text of the model for arguments', (args) => {
    for (const argumentsAsText of [false, true])
      expect(prepareMessages(call(args), { ...traits, argumentsAsText })).toMatchObject([
        { tool_calls: [{ function: { name: 'f', arguments: args } }] },
      ]);
  });
});
