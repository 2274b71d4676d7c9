// What a catalog needs of the program that has the models: finding them, planning, opening, fetching and deleting them.

import type { AnyKind, Model, OpenEvent } from '../../index.ts';

/** Any model that can be served. */
export type ServableModel = Model<
  { readonly kind: string; readonly name: string; readonly path: string },
  never,
  unknown
>;

/** A model that is there and may not be open, as far as its files tell without its weights. */
export interface FoundModel {
  /** The name that requests use: a folder's or file's name, or owner/name. */
  readonly name: string;
  /** What it is opened by. */
  readonly path: string;
  readonly kind: AnyKind;
  /** Bytes on disk. */
  readonly bytes: number;
  /** The class that its configuration names; null: it names none. */
  readonly architecture: string | null;
  /** Tokens that it was made for; null: unknown, or it reads none. */
  readonly contextLength: number | null;
  /** Whether an image model draws clips unless a request says otherwise, as far as its files or its name tell. */
  readonly drawsClips: boolean;
}

/** What a model would take of a memory budget, on paper. */
export interface PlannedMemory {
  bytes: number;
  /** Whether it opens within the budget at all. */
  opens: boolean;
}

export interface ModelSource {
  /** The models that are there now, in the order of their names. */
  list(): Promise<readonly FoundModel[]>;
  /** Throws what opening the model would throw about its files. */
  plan(model: FoundModel, budget: number): Promise<PlannedMemory>;
  /** Opens a model within `budget` bytes; null: as many as the device gives. `stays`: it is never closed for others. */
  open(
    model: FoundModel,
    { budget, stays }: { budget: number | null; stays: boolean },
    onEvent: (event: OpenEvent) => void,
    signal: AbortSignal,
  ): Promise<ServableModel>;
  /** Fetches a model by its id on a hub, so that the list has it. `onProgress`: bytes that are here, of all. */
  fetch(
    id: string,
    onProgress: (received: number, total: number) => void,
    signal: AbortSignal,
  ): Promise<void>;
  /** Deletes the files of a model that is not open. */
  remove(model: FoundModel): Promise<void>;
}

export interface CatalogLimits {
  /** Bytes on the device for all models together; null: what the device gives, which opening finds out. */
  budget: number | null;
  /** Most models that are open at once; 0: any number. */
  most: number;
  /** Names of models that are not closed for others once they are open. */
  pinned: readonly string[];
  /** Milliseconds without a request after which a model that is not pinned is closed; null: it stays. */
  keepAlive: number | null;
  /** Most requests that wait for one model to be opened. */
  waiting: number;
}
