// Calls of earlier turns as text: for each format, the written text parses to the same calls.

import { expect, it } from 'vitest';
import { writeCalls } from '../../../../src/engine/text/output/call-text.ts';
import { renderConversation } from '../../../../src/engine/text/request/prompt.ts';
import { TOOL_FORMATS } from '../../../../src/engine/text/output/tool-formats.ts';
import type { ChatMessage } from '../../../../src/engine/text/calls/text-model.ts';
import { openChatTemplate, type ChatRendering } from '../../../../src/files/template/template.ts';
import { formatOf, piecesOf, told } from './feed.ts';

const CALLS = [
  {
    name: 'get_weather',
    arguments: { city: 'Zü "q"\n', days: 3, metric: true, note: null, where: { a: [1, 'x]', {}] } },
  },
  { name: 'ping', arguments: {} },
];

const FORMATS = [...TOOL_FORMATS.values()].filter(({ bodies: [first] }) =>
  ['json', 'python'].includes(first!.kind),
);

it.each(FORMATS.map((format) => [format.name, format] as const))('calls in the format %s', (name, format) => {
  const parts = told(piecesOf([writeCalls(CALLS, format)]), formatOf(name, null));
  expect(
    parts.map((part) =>
      'name' in part ? { name: part.name, arguments: JSON.parse(part.arguments) as unknown } : part,
    ),
  ).toEqual(CALLS);
});

it('calls of earlier turns are JSON without a format, or in one that is not written', () => {
  const [, ping] = CALLS;
  for (const format of [null, TOOL_FORMATS.get('gemma4')!])
    expect(writeCalls([ping!], format)).toBe('[{"name": "ping", "parameters": {}}]');
});

it('calls of earlier turns stand in the text if the template leaves them out, as that of LFM2 does', async () => {
  const source =
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content if m.content is string else '' }}<|im_end|>\n{% endfor %}";
  const calls = (given: string): ChatMessage[] => [
    { role: 'user', content: 'Hi' },
    {
      role: 'assistant',
      content: 'I look.',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: given } }],
    },
    { role: 'tool', content: 'blue', tool_call_id: 'c1' },
  ];
  const rendered = async (source: string, given: string) => {
    const template = openChatTemplate({ default: source }, {});
    const render = (rendering: ChatRendering) => template.render(rendering);
    return (await renderConversation({ messages: calls(given) }, render, null, TOOL_FORMATS.get('lfm2')))
      .text;
  };
  expect(await rendered(source, '{"at": "sky"}')).toBe(
    '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nI look.\n<|tool_call_start|>[look(at="sky")]<|tool_call_end|><|im_end|>\n<|im_start|>tool\nblue<|im_end|>\n',
  );
  expect(await rendered(source, '{"at": ')).toContain('<|tool_call_start|>[look({"at": )]<|tool_call_end|>');
  const own = `{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}{{ c.function | tojson }}{% endfor %}{% endfor %}`;
  expect(await rendered(own, '{"at": "sky"}')).toBe(
    'HiI look.{"name": "look", "arguments": {"at": "sky"}}blue',
  );
  const needsTools = own
    .replace('{% for c', '{% for c in [] if tools %}{% endfor %}{% for c')
    .replace('m.tool_calls or []', '((m.tool_calls or []) if tools else [])');
  expect(await rendered(needsTools, '{"at": "sky"}')).toBe('HiI look.blue');
});
