// What a parser finds, gathered into the parts of one push. Each token goes with the first part that appears once it is
// in; line breaks and spaces that only set a call or the reasoning apart are left out.

import type { Piece } from '../piece.ts';
import type { TokenLogprob } from '../text-model.ts';
import type { OutputPart } from './output-parser.ts';
import { isJsonObject } from './typed-value.ts';

export interface PartsOptions {
  /** false: reasoning is content, tags and all. */
  separateReasoning: boolean;
  /** false: reasoning comes in one part. */
  streamReasoning: boolean;
  /** Reasoning waits for the answer; where there comes none, it is the answer. */
  reasoningFills?: boolean;
  /** Space before a call is held back and dropped. */
  holdSpace: boolean;
  /** Nothing but calls can stand here: other text is of one that was cut before its name. */
  callsOnly?: boolean;
  callId: () => string;
}

export interface Parts {
  /** Nothing but space has been said. */
  readonly blank: boolean;
  readonly calls: number;
  /** See OutputParser. */
  readonly callsAreWhole: boolean;
  readonly openArguments: string | null;
  token(piece: Piece): void;
  content(text: string): void;
  openReasoning(tag: string): void;
  reasoning(text: string): void;
  closeReasoning(tag: string): void;
  openCall(name: string, id?: string): void;
  arguments(text: string): void;
  /** Whether arguments are as the model writes them from now on. */
  verbatim(isSo: boolean): void;
  closeCall(): void;
  /** The parts since the last time. */
  take(): OutputPart[];
  /** The last ones. */
  end(): OutputPart[];
}

/** Space held back at most: a model stuck in it still streams. */
const MOST_SPACE = 256;

export function createParts(options: PartsOptions): Parts {
  const { separateReasoning, holdSpace, callId, reasoningFills = false } = options;
  const streamReasoning = options.streamReasoning && !reasoningFills;
  let parts: OutputPart[] = [];
  let waiting: { ids: number[]; logprobs: TokenLogprob[] } = { ids: [], logprobs: [] };
  let said = false;
  let calls = 0;
  let inReasoning = false;
  /** What the last token belonged to. */
  let lastKind: OutputPart['kind'] = 'content';
  let heldSpace = '';
  /** Line breaks are dropped until something else comes. */
  let atStart = false;
  /** Arguments of the last call. */
  let given = '';
  /** Calls before it whose arguments are an object. */
  let whole = 0;
  let isVerbatim = false;
  /** Reasoning that is sent in one piece. */
  let thought = '';

  const add = (kind: 'content' | 'reasoning', text: string): void => {
    if (text === '') return;
    lastKind = kind;
    const last = parts.at(-1);
    if (last !== undefined && last.kind === kind) last.text += text;
    else parts.push({ kind, text, ids: [], logprobs: [] });
  };
  const addReasoning = (text: string): void => {
    if (streamReasoning) add('reasoning', text);
    else thought += text;
  };
  const addArguments = (text: string): void => {
    lastKind = 'toolCall';
    given += text;
    const last = parts.at(-1);
    if (last?.kind === 'toolCall') last.text += text;
    else parts.push({ kind: 'toolCall', call: calls - 1, text, ids: [], logprobs: [] });
  };
  const endThought = (): void => {
    add('reasoning', thought);
    thought = '';
  };
  /** The text that is certain to stay; space at its end waits for what follows. */
  const certain = (text: string, holds: boolean): string => {
    const rest = atStart ? text.replace(/^[\r\n]+/, '') : text;
    atStart &&= rest === '';
    const all = heldSpace + rest;
    const space = holds ? all.length - all.trimEnd().length : 0;
    const sure = all.slice(0, all.length - (space % MOST_SPACE));
    heldSpace = all.slice(sure.length);
    return sure;
  };

  return {
    get blank() {
      return !said && calls === 0;
    },
    get calls() {
      return calls;
    },
    get callsAreWhole() {
      return calls > 0 && whole === calls - 1 && isJsonObject(given);
    },
    get openArguments() {
      return isVerbatim ? given : null;
    },
    token({ id, logprob }) {
      if (id !== null) waiting.ids.push(id);
      if (logprob) waiting.logprobs.push(logprob);
    },
    content(text) {
      if (options.callsOnly) return;
      said ||= text.trim() !== '';
      if (said && !inReasoning) endThought();
      add('content', certain(text, holdSpace));
    },
    openReasoning(tag) {
      inReasoning = true;
      if (!separateReasoning) add('content', heldSpace + tag);
      else atStart = true;
      heldSpace = '';
    },
    reasoning(text) {
      if (separateReasoning) addReasoning(certain(text, true));
      else add('content', text);
    },
    closeReasoning(tag) {
      inReasoning = false;
      heldSpace = '';
      if (!separateReasoning) return add('content', tag);
      if (!reasoningFills) endThought();
      atStart = true;
    },
    openCall(name, id = callId()) {
      endThought();
      lastKind = 'toolCall';
      if (calls > 0 && isJsonObject(given)) whole++;
      heldSpace = given = '';
      parts.push({ kind: 'toolCall', call: calls++, id, name, text: '', ids: [], logprobs: [] });
    },
    arguments(text) {
      if (text !== '') addArguments(text);
    },
    verbatim(isSo) {
      isVerbatim = isSo;
    },
    closeCall() {
      isVerbatim = false;
      atStart = true;
    },
    take() {
      const taken = parts;
      parts = [];
      const [first] = taken;
      if (first === undefined || waiting.ids.length === 0) return taken;
      Object.assign(first, waiting);
      waiting = { ids: [], logprobs: [] };
      return taken;
    },
    end() {
      const isAnswer = reasoningFills && !said && calls === 0;
      if (isAnswer) add('content', thought + heldSpace);
      else if (inReasoning && separateReasoning) add('reasoning', thought + heldSpace);
      else add('content', heldSpace);
      heldSpace = thought = '';
      if (parts.length > 0 || waiting.ids.length === 0) return this.take();
      if (lastKind === 'toolCall') addArguments('');
      else parts.push({ kind: lastKind, text: '', ids: [], logprobs: [] });
      return this.take();
    },
  };
}
