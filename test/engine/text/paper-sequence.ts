// Sequences for tests without a tokenizer: every token is one letter.

import { Placement, SequencePrefix } from '../../../src/engine/text/cache/placement.ts';
import type { Constraint } from '../../../src/engine/text/calls/constraint.ts';
import { plainOutput, type OutputParser } from '../../../src/engine/text/calls/output-parser.ts';
import type { Pieces } from '../../../src/engine/text/calls/piece.ts';
import { Progress } from '../../../src/engine/text/run/progress.ts';
import type { Recorder } from '../../../src/engine/text/run/recorder.ts';
import { SequenceOutput } from '../../../src/engine/text/run/sequence-output.ts';
import { Sequence, type SequenceRequest } from '../../../src/engine/text/run/sequence.ts';
import { stopText } from '../../../src/grammar/stops/stop-text.ts';
import { createStopMatcher } from '../../../src/engine/text/run/sequence-output.ts';
import type { TextEvent } from '../../../src/engine/text/calls/text-model.ts';

export interface PaperSequence extends Sequence {
  events: TextEvent[];
  /** Called with each event, after it was added to `events`. */
  onEvent?: (event: TextEvent) => void;
}

interface PaperRequest {
  seed?: number;
  stopIds?: number[];
  stop?: string[];
  /** Pages are shared within one scope. */
  scope?: string;
  /** Positions from here on are never shared. */
  shareable?: number;
  leader?: Sequence | null;
  priority?: number;
  request?: Partial<SequenceRequest>;
  logprobs?: number | null;
  constraint?: Constraint | null;
  recorder?: Recorder | null;
  pieces?: Pieces;
  parser?: OutputParser;
}

const LETTERS: Pieces = {
  of: (id, logprob) => ({ id, text: letter(id), special: false, ...(logprob ? { logprob } : {}) }),
  bytes: (id) => new TextEncoder().encode(letter(id)),
  ownText: letter,
  rest: () => '',
};

export function paperSequence(
  prompt: readonly number[],
  maxTokens: number,
  asked: PaperRequest = {},
): PaperSequence {
  const { seed = 0, stopIds = [], stop = [], scope = '', leader = null, priority = 0 } = asked;
  const { constraint = null, recorder = null, pieces = LETTERS, parser = plainOutput() } = asked;
  const choice = leader ? 1 : 0;
  const events: TextEvent[] = [];
  const sequence: PaperSequence = Object.assign(
    new Sequence({
      choice,
      leader,
      request: {
        priority,
        maxTokens,
        minTokens: 0,
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
          logprobs: asked.logprobs ?? null,
        },
        stopIds: new Set(stopIds),
        allowed: null,
        speculative: true,
        isShared: true,
        processor: null,
        lora: null,
        ...asked.request,
      },
      progress: new Progress(prompt),
      placement: new Placement(new SequencePrefix(scope, asked.shareable ?? Infinity)),
      output: new SequenceOutput({
        choice,
        pieces,
        stops: createStopMatcher({ stops: stop.map((text) => stopText(text).begin()) }),
        parser,
        keepStop: false,
        emit(event) {
          events.push(event);
          sequence.onEvent?.(event);
        },
      }),
      constraint,
      recorder,
    }),
    { events },
  );
  return sequence;
}

function letter(id: number): string {
  return String.fromCharCode(97 + (id % 26));
}

export function generated({ progress }: Sequence): number[] {
  return progress.ids.slice(progress.promptTokens);
}

/** The ids of its prompt. */
export function promptOf({ progress }: Sequence): number[] {
  return progress.ids.slice(0, progress.promptTokens);
}
