// Messages to and from the threads for slow work on texts. Answers are TaskAnswers; a compilation reports its steps and its memory.

import type { ChatRendering } from '../../../files/template/template.ts';
import type { StopTable } from '../../../grammar/stops/stop-table.ts';
import type { CompiledSource, GrammarSource } from './grammar-source.ts';

/** `path`: folder of the checkpoint whose tokenizer and chat template are used. */
export type TextTask =
  | { kind: 'encode'; path: string; text: string; addSpecialTokens: boolean }
  | { kind: 'render'; path: string; rendering: ChatRendering }
  | { kind: 'stops'; patterns: readonly string[] }
  | CompileTask;

export interface CompileTask {
  kind: 'compile';
  source: GrammarSource;
  /** 1 for each byte that is a token by itself. */
  available: Uint8Array;
  /** Shared memory of its turn (compile-turn.ts); null: it cannot wait, and ends with its thread. */
  turn: Int32Array | null;
}

export interface CompileReport {
  /** Steps since the begin of the compilation. */
  steps: number;
  /** Bytes of the thread's heap; null: it cannot be measured. */
  heap: number | null;
}

export type TextTaskResult = number[] | string | StopTable[] | CompiledSource;
