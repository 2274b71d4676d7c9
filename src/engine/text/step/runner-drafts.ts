// What a runner and its steps know of a draft model (engine/text/speculation/drafts), which lies above them.

import type { TensorEntry } from '../../../files/tensors/safetensors.ts';
import type { Device } from '../../../gpu/device.ts';
import type { Tape } from '../../../gpu/tape.ts';
import type { Region } from '../../../gpu/tensor.ts';
import type { LayerStore } from '../../../kernels/batch.ts';
import type {
  DraftDeclaration,
  LanguageModel,
  TextDeclaration,
} from '../../../models/text/blocks/architecture.ts';
import type { PageLayout } from '../kv/page-layout.ts';

/** Consecutive tokens of a sequence whose states the target computed in its last step, and which are final. */
export interface DraftPart {
  /** Row of that step which computed token `first`. */
  row: number;
  first: number;
  rows: number;
  /** Known tokens of the sequence: at least first + rows + 1, the last of which has been sampled and has no state yet. */
  ids: ArrayLike<number>;
  /** The sequence's pages in the target, which must have room for the tokens that are guessed. */
  tables: readonly (readonly number[])[];
  passedPages?: readonly number[];
  lengthAt: (token: number) => number;
  place?: (token: number) => readonly [time: number, height: number, width: number];
  /** Tokens to guess after the known ones; 0: the tokens are only made known to the draft model, as those of a prompt are. */
  drafts: number;
}

/** A draft model on the device of its target. */
export interface RunnerDrafts {
  readonly declaration: DraftDeclaration;
  /** Where the target's steps copy the states of their rows to, [rows, columns]; null: none are taken. */
  readonly targets: Region | null;
  readonly tapes: readonly Tape[];
  /** Records its tapes over the states of the layers of the target and, behind them, its own. */
  record(stores: readonly LayerStore[]): void;
  /** Destroys the tapes. */
  forget(): void;
  /**
   * Guesses tokens greedily, after the target's last step and before its next one is submitted. Returns those of each part: as many as asked for, as long
   * as its pages have room for them. Parts that were told before may be told again, and tokens that turned out otherwise are simply told anew.
   */
  propose(parts: readonly DraftPart[]): Promise<number[][]>;
}

export interface DraftSizes {
  layout: PageLayout;
  /** Layers of the target, behind which those of the draft model come. */
  targetLayers: number;
  /** Most sequences of a step. */
  slots: number;
  /** Most rows of a step. */
  rows: number;
  /** Pages of the longest context. */
  contextPages: number;
}

/** A draft model before its target is open. */
export interface DraftModelSource {
  readonly declaration: DraftDeclaration;
  /** Whether its weights are in the target's checkpoint, among those that the target's page asks for. */
  readonly isOwn: boolean;
  /** Bytes of its weights on the device beside those of the target, whose checkpoint has `tensors`. */
  bytes(device: Device, tensors: ReadonlyMap<string, TensorEntry>, target: TextDeclaration): number;
  /** Loads the weights. What is returned makes the draft model once the sizes of its target are known; `unread`: nothing is read, for planning. */
  load(
    device: Device,
    model: LanguageModel,
    options: { unread: boolean },
  ): Promise<(sizes: DraftSizes) => RunnerDrafts>;
}
