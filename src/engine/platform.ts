// What the engine needs of the place it runs in. Node fills it (platform-node.ts); a browser page or a test may fill it
// otherwise, and nothing else in this room knows where it is.

import type { HubEvent } from '../files/hub/hub-events.ts';
import type { PageStore } from '../files/pages/page-store.ts';
import type { PackedEntry, PackedFile } from '../files/checkpoint/quantized-cache.ts';
import type { Folder } from '../files/source.ts';
import type { AdapterSummary } from '../gpu/adapter.ts';
import type { Device } from '../gpu/device.ts';
import type { TunedVariants } from '../gpu/tuning.ts';
import type { Pixels } from './image/image-model.ts';
import type { TextModelOptions } from './text/text-model.ts';
import type { Port } from './session/port.ts';

export interface Platform {
  /** What was tuned on its adapter before, it knows. */
  openDevice(options: Pick<TextModelOptions, 'adapter' | 'memoryBudget' | 'safe'>): Promise<Device>;
  /** Keeps what was found on an adapter for the devices that open later. */
  keepTuned(adapter: AdapterSummary, tuned: TunedVariants): Promise<void>;
  /** The folder of a model, which is fetched where it is an id of the hub. */
  resolveModel(
    model: string,
    options: {
      revision?: string;
      component?: string;
      signal?: AbortSignal;
      onProgress?: (event: HubEvent) => void;
      inspect?: (path: string, files: readonly string[]) => Promise<void>;
    },
  ): Promise<{ path: string }>;
  openFolder(path: string): Promise<Folder>;
  /** A folder that is, or lies in, one of those allowed. */
  folderWithin(path: string, allowed: readonly string[]): Promise<{ path: string } | 'outside' | 'missing'>;
  /** Scaled to cover width × height, its proportions kept; what juts out is cut off. */
  coverImage(image: Pixels, width: number, height: number): Promise<Pixels>;
  /** Where packed weights are kept; null: nowhere. */
  packed: PackedCache | null;
  /** Opens the storage of KV pages that belong to a checkpoint; null: there is none. */
  openPageStore: ((options: PageStorageOptions) => Promise<PageStorage>) | null;
  /** Starts a thread for long texts or for grammars, `memory`: MiB that its heap may take; null: both are done here. */
  tokenizerThread: ((memory?: number) => Port) | null;
}

export interface PageStorageOptions {
  /** `file`, a folder, or a redis:// address. */
  where: string;
  /** Bytes kept at most. */
  most: number;
  checkpoint: { path: string; shards: readonly string[] };
  /** What else decides whether a page fits. */
  computed: string;
  onTrouble(message: string): void;
}

export interface PageStorage extends PageStore {
  /** The name of the page that ends these tokens, after the page of that name. */
  name(before: string | null, scope: string, tokens: string): string;
}

export interface PackedCache {
  /** The place for one state of a checkpoint's shards, one quantization and one packed layout. */
  slot(origin: {
    path: string;
    shards: readonly string[];
    quantization: string;
    layout: string;
  }): Promise<PackedSlot>;
}

export interface PackedSlot {
  /** null: there is none that fits. */
  read(): Promise<PackedFile | null>;
  write(entries: Iterable<PackedEntry>): Promise<void>;
}
