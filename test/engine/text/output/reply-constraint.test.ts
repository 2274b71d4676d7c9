// Constraints on replies of models that reason in channels: a grammar after the reasoning, budgets, and no constraint if none is
// needed.

import { describe, expect, it } from 'vitest';
import { compile } from '../../../../src/grammar/compile/compile.ts';
import { limits } from '../../../../src/grammar/automata/dfa.ts';
import { ruleOfSource } from '../../../../src/engine/text/threads/grammar-source.ts';
import { Grammar } from '../../../../src/grammar/grammar.ts';
import { createVocabulary } from '../../../../src/grammar/masks/vocabulary.ts';
import { outputFormat } from '../../../../src/engine/text/output/detect.ts';
import { createReplyConstraint } from '../../../../src/engine/text/output/reply-constraint.ts';
import { grammarOfReply } from '../../../../src/engine/text/output/reply-grammars.ts';
import { planReply } from '../../../../src/engine/text/output/reply-plan.ts';
import type { Begins } from '../../../../src/engine/text/output/format.ts';
import type { TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import { openChatTemplate } from '../../../../src/files/template/template.ts';
import { openTokenizer } from '../../../../src/files/tokenizer/tokenizer.ts';
import { byteLevel } from '../../../files/tokenizer/small-tokenizers.ts';
import { TOOLS } from './feed.ts';

const MARKS = [
  '<|start|>',
  '<|channel|>',
  '<|message|>',
  '<|constrain|>',
  '<|end|>',
  '<|return|>',
  '<|call|>',
];

/** A vocabulary of bytes with the markers as special tokens. */
const files = byteLevel();
const size = Object.keys((files.tokenizerJson['model'] as { vocab: object }).vocab).length;
const added = (files.tokenizerJson['added_tokens'] as { id: number }[]) ?? [];
const firstMark = Math.max(size, ...added.map(({ id }) => id + 1));
const tokenizer = openTokenizer({
  ...files,
  tokenizerJson: {
    ...files.tokenizerJson,
    added_tokens: [
      ...added,
      ...MARKS.map((content, at) => ({
        id: firstMark + at,
        content,
        special: true,
        normalized: false,
        single_word: false,
        lstrip: false,
        rstrip: false,
      })),
    ],
  },
});
const endIds = [firstMark + 5, firstMark + 6];
const context = {
  output: outputFormat({ tools: 'gpt-oss' }, { tools: null, reasoning: null }),
  template: openChatTemplate({ default: '{{ messages[0].content }}{{ tools }}{{ reasoning_effort }}' }, {}),
  tokenizer,
  jsonSchemaMode: 'declared' as const,
  name: 'm',
  endIds,
};
const vocabulary = createVocabulary(tokenizer, firstMark + MARKS.length, endIds);

function constraintOf(rest: Partial<TextRequest>, begins: Begins = 'undecided', matched = '') {
  const request: TextRequest = { prompt: { messages: [{ role: 'user', content: 'Hi' }] }, ...rest };
  const plan = planReply(request, context);
  const source = grammarOfReply(request, plan, begins, context);
  const bounds = limits();
  const grammar: Grammar | null =
    source && new Grammar(compile(ruleOfSource(source, bounds), vocabulary.available, bounds), vocabulary);
  return createReplyConstraint(plan, begins, grammar, { ...context, matched, opens: true });
}

const encode = (text: string): number[] => tokenizer.encode(text, { addSpecialTokens: false });

/** Accepts a text together with all tokens that must follow, and returns those. */
function say(constraint: NonNullable<ReturnType<typeof constraintOf>>, text: string): string {
  for (const id of encode(text)) constraint.accept(id);
  let forced = '';
  for (let ids = constraint.forced(); ids.length > 0; ids = constraint.forced()) {
    ids.forEach((id) => constraint.accept(id));
    forced += tokenizer.decode(ids, { skipSpecialTokens: false });
  }
  return forced;
}

const answer = { type: 'regex', pattern: 'yes' } as const;
const tools = { messages: [{ role: 'user' as const, content: 'Hi' }], tools: TOOLS };

describe('channels of a constrained reply', () => {
  it('allow free thinking, and then an answer as asked', () => {
    const constraint = constraintOf({ constraint: answer })!;
    expect(say(constraint, '<|channel|>analysis<|message|>Hm, "no"?')).toBe('');
    expect(say(constraint, '<|end|>')).toBe('<|start|>assistant<|channel|>final<|message|>yes');
    expect(constraint.ended).toBe(true);
  });

  it('may answer without thinking, or continue an answer', () => {
    const constraint = constraintOf({ constraint: answer })!;
    expect(say(constraint, '<|channel|>f')).toBe('inal<|message|>yes');
    expect(say(constraintOf({ constraint: answer }, 'answer')!, 'y')).toBe('es');
  });

  it('call the one tool that is named', () => {
    const constraint = constraintOf({ prompt: tools, toolChoice: { name: 'ping' } })!;
    const forced = say(constraint, '<|channel|>analysis<|message|>Hm<|end|>');
    expect(forced).toBe(
      '<|start|>assistant<|channel|>commentary to=functions.ping <|constrain|>json<|message|>{',
    );
  });

  it('call behind an answer that has begun, at once or when it is done', () => {
    const call =
      '<|end|><|start|>assistant<|channel|>commentary to=functions.ping <|constrain|>json<|message|>{';
    expect(say(constraintOf({ prompt: tools, toolChoice: { name: 'ping' } }, 'answer')!, '')).toBe(call);
    const [ping] = TOOLS.filter((tool) => tool.function.name === 'ping');
    const strict = [{ ...ping!, function: { ...ping!.function, strict: true } }];
    const auto = constraintOf({ prompt: { ...tools, tools: strict } }, 'answer')!;
    expect(say(auto, ' Let me look.')).toBe('');
    expect(say(auto, '<|end|>')).toBe(call.slice('<|end|>'.length));
  });

  it('continue an answer in its format', () => {
    const pattern = { type: 'regex', pattern: 'yes|yeah|no' } as const;
    expect(say(constraintOf({ constraint: pattern }, 'answer', 'ye')!, 'a')).toBe('h');
    expect(constraintOf({ constraint: pattern }, 'answer', 'no')!.ended).toBe(true);
    expect(() => constraintOf({ constraint: pattern }, 'answer', 'you')).toThrow(
      expect.objectContaining({
        code: 'bad_request',
        param: 'messages',
        message: expect.stringContaining('"yo"'),
      }),
    );
  });

  it('end thinking when a budget is spent, with an answer if nothing else can be', () => {
    const constraint = constraintOf({ reasoning: { budget: 2 } })!;
    expect(say(constraint, '<|channel|>analysis<|message|>a')).toBe('');
    expect(constraint.free).toBe(false);
    expect(say(constraint, 'b')).toBe('<|end|><|start|>assistant<|channel|>final<|message|>');
    expect(constraint.free).toBe(true);
    const calling = constraintOf({ prompt: tools, reasoning: { budget: 1 } })!;
    expect(say(calling, '<|channel|>analysis<|message|>a')).toBe('<|end|><|start|>assistant');
  });

  it('are free without a constraint', () => {
    expect(constraintOf({})).toBe(null);
    expect(constraintOf({ prompt: tools })).toBe(null);
    expect(constraintOf({ reasoning: { budget: 2 } }, 'closed')).toBe(null);
  });
});
