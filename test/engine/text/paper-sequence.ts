// Sequences for tests without a tokenizer: every token is one letter.

import { plainOutput } from '../../../src/engine/text/output/output-parser.ts';
import { createPrefix } from '../../../src/engine/text/cache/sequence-pages.ts';
import { stopText } from '../../../src/engine/text/stops/stop-text.ts';
import { createStopMatcher } from '../../../src/engine/text/stops/stops.ts';
import type { Sequence } from '../../../src/engine/text/sequence.ts';
import type { TextEvent } from '../../../src/engine/text/text-model.ts';

export interface PaperSequence extends Sequence {
  events: TextEvent[];
}

interface PaperRequest {
  seed?: number;
  stopIds?: number[];
  stop?: string[];
  /** Pages are shared within it. */
  scope?: string;
  leader?: Sequence | null;
  priority?: number;
}

export function paperSequence(
  prompt: readonly number[],
  maxTokens: number,
  { seed = 0, stopIds = [], stop = [], scope = '', leader = null, priority = 0 }: PaperRequest = {},
): PaperSequence {
  const sequence: PaperSequence = {
    choice: leader ? 1 : 0,
    leader,
    priority,
    arrival: 0,
    passed: 0,
    prefix: createPrefix(scope, Infinity),
    promptTokens: prompt.length,
    ids: [...prompt],
    computed: 0,
    inFlight: 0,
    pages: [],
    slot: null,
    maxTokens,
    sampling: {
      temperature: 0,
      topP: 1,
      topK: 0,
      minP: 0,
      repetitionPenalty: 1,
      frequencyPenalty: 0,
      presencePenalty: 0,
      seedLow: seed,
      seedHigh: 0,
      bias: [],
      biasBelowMin: [],
      logprobs: null,
    },
    stopIds: new Set(stopIds),
    endIds: [],
    stops: createStopMatcher({ stops: stop.map((text) => stopText(text).begin()) }),
    minTokens: 0,
    keepStop: false,
    constraint: null,
    forced: [],
    allowed: null,
    processor: null,
    counts: null,
    pieces: {
      of: (id, logprob) => ({ id, text: letter(id), special: false, ...(logprob ? { logprob } : {}) }),
      bytes: (id) => new TextEncoder().encode(letter(id)),
      ownText: letter,
      rest: () => '',
    },
    output: plainOutput(),
    held: null,
    adapter: null,
    recorder: null,
    finished: false,
    losses: 0,
    events: [],
    emit: (event) => void sequence.events.push(event),
  };
  return sequence;
}

function letter(id: number): string {
  return String.fromCharCode(97 + (id % 26));
}

export function generated(sequence: Sequence): number[] {
  return sequence.ids.slice(sequence.promptTokens);
}
