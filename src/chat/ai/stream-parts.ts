// Events of the engine as parts of the AI SDK's stream: texts and calls have a beginning and an end there.

import type {
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from '@ai-sdk/provider';
import type { FinishReason, TextEvent } from '../../engine/text/calls/text-model.ts';

type Part = LanguageModelV3StreamPart;
type Done = Extract<TextEvent, { type: 'done' }>;
type Open =
  | { type: 'text' | 'reasoning'; id: string }
  | { type: 'call'; call: number; id: string; name: string; input: string };

const REASONS: Record<FinishReason, LanguageModelV3FinishReason['unified']> = {
  stop: 'stop',
  length: 'length',
  tool_calls: 'tool-calls',
  abort: 'other',
};

export class StreamParts {
  /** The text or call that has begun. */
  #open: Open | null = null;
  #count = 0;
  #prompt = { tokens: 0, cached: 0 };

  *of(event: TextEvent): Generator<Part, void, void> {
    switch (event.type) {
      case 'accepted':
        this.#prompt.tokens = event.promptTokens;
        return;
      case 'prefill':
        this.#prompt.cached = event.cachedTokens;
        return;
      case 'delta':
      case 'reasoning':
        return yield* this.#text(event.type === 'delta' ? 'text' : 'reasoning', event.text);
      case 'toolCall':
        return yield* this.#call(event);
      case 'done':
        if (event.error) return; // generate() throws it
        yield* this.#end();
        yield { type: 'finish', finishReason: reasonOf(event), usage: this.#usage(event) };
    }
  }

  *#text(type: 'text' | 'reasoning', delta: string): Generator<Part, void, void> {
    if (delta === '') return;
    if (this.#open?.type !== type) {
      yield* this.#end();
      this.#open = { type, id: String(this.#count++) };
      yield { type: `${type}-start`, id: this.#open.id };
    }
    yield { type: `${type}-delta`, id: this.#open.id, delta };
  }

  *#call(event: Extract<TextEvent, { type: 'toolCall' }>): Generator<Part, void, void> {
    const { call, arguments: delta } = event;
    let open = this.#open;
    if (open?.type !== 'call' || open.call !== call) {
      yield* this.#end();
      open = { type: 'call', call, id: event.id ?? `call_${call}`, name: event.name ?? '', input: '' };
      this.#open = open;
      yield { type: 'tool-input-start', id: open.id, toolName: open.name };
    }
    if (delta === '') return;
    open.input += delta;
    yield { type: 'tool-input-delta', id: open.id, delta };
  }

  *#end(): Generator<Part, void, void> {
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    if (open.type !== 'call') return yield { type: `${open.type}-end`, id: open.id };
    yield { type: 'tool-input-end', id: open.id };
    yield { type: 'tool-call', toolCallId: open.id, toolName: open.name, input: open.input || '{}' };
  }

  #usage({ completionTokens: total, reasoningTokens: reasoning = 0 }: Done): LanguageModelV3Usage {
    const { tokens, cached } = this.#prompt;
    return {
      inputTokens: { total: tokens, noCache: tokens - cached, cacheRead: cached, cacheWrite: undefined },
      outputTokens: { total, text: total - reasoning, reasoning },
    };
  }
}

const reasonOf = ({ finishReason }: Done): LanguageModelV3FinishReason => ({
  unified: REASONS[finishReason],
  raw: finishReason,
});
