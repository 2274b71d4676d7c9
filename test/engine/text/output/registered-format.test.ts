// A tool format that the engine does not know, registered from here as data: it is detected, read, enforced and written like its own.

import { expect, it } from 'vitest';
import {
  describeFormat,
  detectFormats,
  FORMAT_TABLES,
  outputFormat,
  type FormatTables,
} from '../../../../src/engine/text/output/detect.ts';
import type { ToolFormat } from '../../../../src/engine/text/output/format.ts';
import { createOutput } from '../../../../src/engine/text/output/parser.ts';
import { createReplyConstraint } from '../../../../src/engine/text/output/reply-constraint.ts';
import { grammarOfReply } from '../../../../src/engine/text/output/reply-grammars.ts';
import { planReply } from '../../../../src/engine/text/output/reply-plan.ts';
import { renderConversation } from '../../../../src/engine/text/request/prompt.ts';
import { ruleOfSource } from '../../../../src/engine/text/threads/grammar-source.ts';
import { openChatTemplate } from '../../../../src/files/template/template.ts';
import { openTokenizer } from '../../../../src/files/tokenizer/tokenizer.ts';
import { compile } from '../../../../src/grammar/compile/compile.ts';
import { limits } from '../../../../src/grammar/automata/dfa.ts';
import { Grammar } from '../../../../src/grammar/grammar.ts';
import { createVocabulary } from '../../../../src/grammar/masks/vocabulary.ts';
import { byteLevel } from '../../../files/tokenizer/small-tokenizers.ts';
import { TOOLS } from './feed.ts';

const POST: ToolFormat = {
  name: 'post',
  call: { begin: '<<post ', end: '>>' },
  bodies: [{ kind: 'json', name: 'to', arguments: ['letter'] }],
};

const TABLES: FormatTables = {
  ...FORMAT_TABLES,
  tools: {
    formats: new Map([...FORMAT_TABLES.tools.formats, [POST.name, POST]]),
    aliases: { ...FORMAT_TABLES.tools.aliases, mail: POST.name },
    rules: [{ format: POST.name, template: ['<<post'] }, ...FORMAT_TABLES.tools.rules],
  },
};

const tokenizer = openTokenizer(byteLevel());
const vocabulary = createVocabulary(tokenizer, 300, [261]);
const template = openChatTemplate(
  { default: '{% for m in messages %}{{ m.content }}{% endfor %}{# calls: <<post … >> {{ tools }} #}' },
  {},
);
const detected = detectFormats(template.source, () => false, TABLES);
const context = {
  output: outputFormat({}, detected, TABLES),
  template,
  tokenizer,
  jsonSchemaMode: 'declared' as const,
  name: 'm',
};
const request = {
  prompt: { messages: [{ role: 'user' as const, content: 'Hi' }], tools: TOOLS },
  toolChoice: { name: 'ping' },
};
const CALL = '<<post {"to": "ping", "letter": {}}>>';

it('a registered format is detected, chosen by its names, and unknown if it is not registered', () => {
  expect(detected.tools).toBe('post');
  expect(describeFormat(context.output).tools).toBe('post');
  expect(outputFormat({ tools: 'mail' }, detected, TABLES).tools).toBe(POST);
  expect(detectFormats(template.source, () => false).tools).toBeNull();
  expect(() => outputFormat({ tools: 'post' }, { tools: null, reasoning: null })).toThrow(
    /not a known format/,
  );
});

it('a registered format separates calls from content in a reply', () => {
  const parser = createOutput(planReply(request, context), 'undecided', context);
  const ids = tokenizer.encode(CALL, { addSpecialTokens: false });
  const pieces = ids.map((id) => ({ id, text: tokenizer.tokenText(id), special: false }));
  const parts = [...pieces.flatMap((piece) => parser.push(piece)), ...parser.flush()];
  const calls = parts.filter((part) => part.kind === 'toolCall');
  expect(calls.map(({ name }) => name).join('')).toBe('ping');
  expect(calls.map(({ text }) => text).join('')).toBe('{}');
  expect(parser.callsAreWhole).toBe(true);
});

it('a registered format is enforced if a call is required', () => {
  const plan = planReply(request, context);
  const bounds = limits();
  const rule = ruleOfSource(grammarOfReply(request, plan, 'undecided', context)!, bounds);
  const grammar = new Grammar(compile(rule, vocabulary.available, bounds), vocabulary);
  const choice = { ...context, endIds: [261], matched: '', opens: true };
  const constraint = createReplyConstraint(plan, 'undecided', grammar, choice)!;
  const [first] = tokenizer.encode('<', { addSpecialTokens: false });
  constraint.accept(first!);
  const forced = constraint.forced();
  expect(`<${tokenizer.decode(forced, { skipSpecialTokens: false })}`).toBe(
    CALL.slice(0, CALL.indexOf('{}') + 1),
  );
});

it('a registered format writes the calls of earlier turns for a template without tools', async () => {
  const calls = [{ function: { name: 'ping', arguments: {} } }];
  const messages = [
    { role: 'user' as const, content: 'Hi' },
    { role: 'assistant' as const, content: null, tool_calls: calls },
  ];
  const render = (rendering: Parameters<typeof template.render>[0]) => template.render(rendering);
  const { text } = await renderConversation({ messages }, render, null, context.output.tools);
  expect(text).toContain(CALL);
});
