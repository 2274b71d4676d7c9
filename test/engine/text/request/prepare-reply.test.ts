// The grammars of a request with tools whose calls are optional.

import { expect, it } from 'vitest';
import { GrammarCache, type CompileSource } from '../../../../src/engine/text/threads/grammar-cache.ts';
import { compileSource } from '../../../../src/engine/text/threads/grammar-source.ts';
import { prepareReply } from '../../../../src/engine/text/request/prepare-reply.ts';
import type { RequestContext } from '../../../../src/engine/text/request/request-context.ts';
import type { TextRequest } from '../../../../src/engine/text/calls/text-model.ts';
import { EngineError } from '../../../../src/files/error.ts';
import { openChatTemplate } from '../../../../src/files/template/template.ts';
import { openTokenizer } from '../../../../src/files/tokenizer/tokenizer.ts';
import { createVocabulary } from '../../../../src/grammar/masks/vocabulary.ts';
import { byteLevel } from '../../../files/tokenizer/small-tokenizers.ts';
import { formatOf } from '../output/feed.ts';

const tokenizer = openTokenizer(byteLevel());

/** A context whose grammars of a tool with a parameter `hard` end with an error. */
function contextWith(error: EngineError): RequestContext {
  return contextOf(async (source, available) => {
    if (JSON.stringify(source).includes('hard')) throw error;
    return compileSource(source, available);
  });
}

function contextOf(compile: CompileSource): RequestContext {
  return {
    tokenizer,
    output: formatOf('hermes', null),
    name: 'small',
    longText: null,
    grammars: new GrammarCache(createVocabulary(tokenizer, 300, [261]), compile),
    template: openChatTemplate({ default: '{% for m in messages %}{{ m.content }}{% endfor %}' }, {}),
    vocabulary: 300,
    contextLength: 32,
    recording: { hiddenStates: false, routedExperts: false, experts: null },
    endIds: [261],
    suppressedIds: [],
    sampling: { temperature: 0.4, topP: 0.9, topK: 20, minP: 0.05, repetitionPenalty: 1 },
    ropes: [],
    prefixCache: true,
    looksDraftsUp: false,
    jsonSchemaMode: 'declared',
    library: null,
    ownLoras: [],
    checkProcessor: null,
    source: null,
  };
}

const requestWith = (...tools: string[]): TextRequest => ({
  prompt: {
    messages: [{ role: 'user', content: 'a' }],
    tools: tools.map((name) => ({
      type: 'function',
      function: { name, parameters: { properties: { [`${name} value`]: { type: 'integer' } } } },
    })),
  },
});
const request = requestWith('hard', 'soft');

it('arguments that no grammar can hold stay any JSON object', async () => {
  const context = contextWith(new EngineError('bad_request', 'too large', { param: 'constraint' }));
  const { grammars } = await prepareReply(request, null, context, {});
  expect([...grammars.calls!.byTool.keys()]).toEqual(['json soft']);
});

it('a busy machine does not leave calls of a tool unconstrained', async () => {
  const context = contextWith(new EngineError('timed_out', 'too busy', { param: 'constraint' }));
  await expect(prepareReply(request, null, context, {})).rejects.toMatchObject({ code: 'timed_out' });
});

it('a request with many tools has few grammars compiled at once, and none after one that fails', async () => {
  const names = Array.from({ length: 20 }, (_, i) => `tool ${i}`);
  let [begun, running, most] = [0, 0, 0];
  const context = contextOf(async (source, available) => {
    begun++;
    most = Math.max(most, ++running);
    await new Promise((resolve) => setTimeout(resolve));
    running--;
    if (JSON.stringify(source).includes('hard')) throw new EngineError('timed_out', 'too busy');
    return compileSource(source, available);
  });
  const { grammars } = await prepareReply(requestWith(...names), null, context, {});
  const keys = names.map((name) => `json ${name}`);
  expect([...grammars.calls!.byTool.keys()].toSorted()).toEqual(keys.toSorted());
  expect(most).toBe(4);
  const before = begun;
  const failing = requestWith('hard', ...names.map((name) => `other ${name}`));
  await expect(prepareReply(failing, null, context, {})).rejects.toMatchObject({ code: 'timed_out' });
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(begun - before).toBeLessThan(10);
});
