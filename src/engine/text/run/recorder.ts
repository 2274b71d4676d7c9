// Collects what a request reports beside its tokens: the hidden states that they were sampled from, the experts that tokens were
// routed to, and log probabilities of the prompt.

import { type Prose, option, say, subject } from '../../../files/message.ts';
import { badRequest } from '../../../files/error.ts';
import { readPrompt } from './logprobs.ts';
import type { BlockRecorder } from '../step/step-part.ts';
import type { Pieces } from '../calls/piece.ts';
import type { PromptToken, TextEvent } from '../calls/text-model.ts';
import type { TextRequest } from '../calls/text-request.ts';

/** Records that steps of a model can make, by the options with which it was opened. */
export interface RecordableData {
  hiddenStates: boolean;
  routedExperts: boolean;
  /** Number of layers with experts, and of experts per token; null: the model has none. */
  experts: { layers: number; chosen: number } | null;
}

type RecordedMembers = Pick<Extract<TextEvent, { type: 'done' }>, 'hiddenStates' | 'routedExperts'>;

export interface Recorder extends BlockRecorder {
  routeAt(position: number): Uint32Array | undefined;
  promptTop: number | null;
  /** Log probabilities of the prompt, at the first call; undefined at later ones, or if none are requested. */
  takePrompt(): PromptToken[] | undefined;
  /** The members of the `done` event, after `tokens` generated tokens. */
  doneMembers(promptTokens: number, tokens: number): RecordedMembers;
}

/**
 * Makes a recorder; null: the request records nothing. `pieces` decodes the prompt's tokens, in order. `first`: the recorder of the first choice,
 * which has the routes of the prompt. Throws bad_request if the model was not opened to record the requested data.
 */
export function createRecorder(
  request: TextRequest,
  recording: RecordableData,
  { ids, pieces }: { ids: readonly number[]; pieces: Pieces },
  first: Recorder | null,
): Recorder | null {
  checkRequest(request, recording, ids.length);
  const { hiddenStates, routedExperts, promptLogprobs } = request;
  if ((hiddenStates ?? routedExperts ?? promptLogprobs) === undefined) return null;
  const states = new Map<number, Float32Array>();
  const routes = new Map<number, Uint32Array>();
  const prompt = new Map<number, Uint32Array>();
  const from = routedExperts?.from ?? Infinity;
  const routeAt = (position: number) => routes.get(position) ?? first?.routeAt(position);
  const recorder: Recorder = {
    wantsStates: hiddenStates !== undefined,
    wantsRoutes: routedExperts !== undefined,
    state: (position, values) => void states.set(position, values),
    route(position, experts) {
      if (position >= from) routes.set(position, experts);
    },
    routeAt,
    promptTop: first === null ? (promptLogprobs ?? null) : null,
    prompt: (position, words) => void prompt.set(position, words),
    takePrompt() {
      const { promptTop } = recorder;
      if (promptTop === null) return undefined;
      recorder.promptTop = null;
      return readPrompt(ids, prompt, pieces, promptTop);
    },
    doneMembers(promptTokens, tokens) {
      const length = promptTokens + tokens;
      return {
        ...(hiddenStates && { hiddenStates: statesOf(states, hiddenStates, promptTokens, length) }),
        ...(routedExperts && { routedExperts: routesOf(routeAt, recording, from, length - 1) }),
      };
    },
  };
  return recorder;
}

function checkRequest(
  { hiddenStates, routedExperts }: TextRequest,
  recording: RecordableData,
  promptTokens: number,
): void {
  const refuse = (param: string, problem: Prose): never => {
    throw badRequest(say`${subject(param)} ${problem}`, param);
  };
  if (hiddenStates !== undefined && !recording.hiddenStates)
    refuse('hiddenStates', say`is off: open the model with ${option('enableHiddenStates')}`);
  if (routedExperts === undefined) return;
  if (!recording.experts)
    refuse('routedExperts', 'is for models with experts, which this is not: leave it out');
  if (!recording.routedExperts)
    refuse('routedExperts', say`is off: open the model with ${option('enableRoutedExperts')}`);
  if (routedExperts.from > promptTokens)
    refuse(
      'routedExperts.from',
      `is ${routedExperts.from}, the prompt has ${promptTokens} tokens: begin there or before`,
    );
}

function statesOf(
  states: ReadonlyMap<number, Float32Array>,
  which: 'all' | 'last',
  first: number,
  end: number,
): number[][] | number[] {
  const at = (position: number): number[] => [...(states.get(position) ?? [])];
  if (which === 'last') return end > first ? at(end - 1) : [];
  return Array.from({ length: end - first }, (_, i) => at(first + i));
}

/** Routes of the positions from `from` to `end`, or to the first one that was not computed, as int32 values. */
function routesOf(
  routeAt: (position: number) => Uint32Array | undefined,
  { experts }: RecordableData,
  from: number,
  end: number,
): NonNullable<RecordedMembers['routedExperts']> {
  const { layers, chosen } = experts!;
  const known: Uint32Array[] = [];
  for (let position = from; position < end; position++) {
    const route = routeAt(position);
    if (!route) break;
    known.push(route);
  }
  const view = new DataView(new ArrayBuffer(4 * known.length * layers * chosen));
  known.forEach((route, i) =>
    route.forEach((expert, j) => view.setInt32(4 * (i * layers * chosen + j), expert, true)),
  );
  return { shape: [known.length, layers, chosen], data: new Uint8Array(view.buffer) };
}
