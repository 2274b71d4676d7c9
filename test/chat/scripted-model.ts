// A text model that says what a test has written for it, one round a request; a prompt has a token a word.

import { extendTextModel, type OpenedTextModel, type TextEvent, type TextRequest } from '../../src/index.ts';
import { createFakeModel, fakeInfo } from '../server/fake-model.ts';

export interface ScriptedRound {
  text?: string;
  reasoning?: string;
  calls?: { name: string; arguments: string }[];
  finishReason?: 'stop' | 'length';
  /** Says nothing more until it is aborted. */
  hangs?: boolean;
}

export interface ScriptedModel extends OpenedTextModel {
  readonly requests: TextRequest[];
}

export function scriptedModel(rounds: readonly ScriptedRound[], contextLength = 4096): ScriptedModel {
  const left = [...rounds];
  const fake = createFakeModel();
  return extendTextModel({
    ...fake,
    info: { ...fakeInfo, contextLength },
    async *generate(request: TextRequest, { signal }: { signal?: AbortSignal } = {}) {
      fake.requests.push(structuredClone(request));
      const round = left.shift();
      if (round === undefined) throw new Error('the script has no more rounds');
      yield* eventsOf(round, signal);
    },
    renderPrompt: async (prompt) => ({ text: '', ids: wordsOf(JSON.stringify(prompt)).map((_, at) => at) }),
  } satisfies ReturnType<typeof createFakeModel>);
}

const wordsOf = (text: string): string[] => text.split(' ');

async function* eventsOf(round: ScriptedRound, signal: AbortSignal | undefined): AsyncGenerator<TextEvent> {
  const { text = '', reasoning = '', calls = [], finishReason = 'stop', hangs = false } = round;
  const common = { choice: 0, ids: [1] };
  yield { type: 'accepted', promptTokens: 10, maxTokens: 100 };
  yield { type: 'prefill', processed: 10, promptTokens: 10, cachedTokens: 4 };
  if (reasoning !== '') yield { type: 'reasoning', text: reasoning, ...common };
  for (const word of text.split(/(?= )/)) yield { type: 'delta', text: word, ...common };
  if (hangs && !signal?.aborted)
    await new Promise<void>((resolve) => signal?.addEventListener('abort', () => resolve()));
  for (const [call, { name, arguments: args }] of calls.entries()) {
    yield { type: 'toolCall', call, id: `call_${call}`, name, arguments: '', ...common };
    yield { type: 'toolCall', call, arguments: args, ...common };
  }
  yield {
    type: 'done',
    choice: 0,
    finishReason: hangs ? 'abort' : calls.length > 0 ? 'tool_calls' : finishReason,
    matchedStop: null,
    completionTokens: 5,
    ...(reasoning !== '' && { reasoningTokens: 2 }),
  };
}
