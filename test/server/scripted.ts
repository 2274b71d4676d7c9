// A fake model that says exactly what a test specifies, with log probabilities if requested.

import { type PromptToken, type TextEvent, type TextRequest, type TokenLogprob } from '../../src/index.ts';
import type { FakeModel } from './fake-model.ts';

type Said =
  | { say: string }
  | { think: string }
  | { call: string; arguments: string[] }
  | { end: 'stop' | 'length' | 'tool_calls' | 'abort'; error?: { code: 'device_lost'; message: string } };

/** Returns the output of every choice of a request; an exception ends the request. */
export type Script = (request: TextRequest) => Said[];

function logprob(id: number, text: string, top: number): TokenLogprob {
  const bytes = [...Buffer.from(text)];
  return {
    id,
    bytes,
    logprob: -0.25,
    top: Array.from({ length: top }, (_, i) => ({
      id: id + i,
      bytes: [...bytes, ...Buffer.from('!'.repeat(i))],
      logprob: -0.25 * (i + 1),
    })),
  };
}

/** A special token, then one token per character. */
function toldPrompt({ prompt, promptLogprobs = 0 }: TextRequest): PromptToken[] {
  const text = 'text' in prompt ? prompt.text : 'ids' in prompt ? String.fromCharCode(...prompt.ids) : '';
  const told = Array.from(text, (letter, i) => ({ ...logprob(i, letter, promptLogprobs), text: letter }));
  return [{ id: 1, bytes: [...Buffer.from('<s>')], logprob: null, top: [], text: '' }, ...told];
}

/** Makes the model follow a script, with seven prompt tokens, two of them cached. */
export function script(model: FakeModel, of: Script): void {
  model.generate = async function* (request): AsyncGenerator<TextEvent, void, void> {
    await Promise.resolve();
    model.requests.push(request);
    const said = of(request);
    const promptIds = request.promptIds ? { promptIds: [5, 6, 7] } : {};
    yield { type: 'accepted', promptTokens: 7, maxTokens: request.maxTokens ?? 100, ...promptIds };
    yield { type: 'prefill', processed: 7, promptTokens: 7, cachedTokens: 2 };
    if (request.promptLogprobs !== undefined) yield { type: 'prompt', tokens: toldPrompt(request) };
    const choices = Array.from({ length: request.n ?? 1 }, (_, choice) => choice);
    let id = 0;
    let calls = 0;
    for (const one of said) {
      const made = (text: string) => ({
        ids: [id],
        ...(request.logprobs !== undefined && { logprobs: [logprob(id, text, request.logprobs)] }),
      });
      for (const choice of choices) {
        if ('say' in one) yield { type: 'delta', choice, text: one.say, ...made(one.say) };
        else if ('think' in one) yield { type: 'reasoning', choice, text: one.think, ...made(one.think) };
        else if ('end' in one)
          yield {
            type: 'done',
            choice,
            finishReason: one.end,
            matchedStop: one.end === 'stop' ? 2 : null,
            completionTokens: id,
            ...(one.error && { error: one.error }),
          };
        else {
          const call = calls;
          yield {
            type: 'toolCall',
            choice,
            call,
            id: `call_${call}`,
            name: one.call,
            arguments: '',
            ...made(one.call),
          };
          for (const part of one.arguments)
            yield { type: 'toolCall', choice, call, arguments: part, ids: [] };
        }
      }
      if (!('end' in one)) id += 1;
      if ('call' in one) calls += 1;
    }
  };
}

/** The events of a stream: their names, and their data as JSON; the end marker as it is. */
export function readEvents(text: string): { name: string | null; data: unknown }[] {
  return text
    .split('\n\n')
    .filter((block) => block.includes('data: '))
    .map((block) => {
      const name = /^event: (.*)$/m.exec(block)?.[1] ?? null;
      const data = /^data: (.*)$/m.exec(block)![1]!;
      return { name, data: data === '[DONE]' ? data : (JSON.parse(data) as unknown) };
    });
}
