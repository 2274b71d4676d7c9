// The interface between the engine and its surroundings: device, files, caches, threads. Starters in host/ implement it. Nothing else in this room depends on where it runs.

import type { Checkpoint } from '../../files/checkpoint/checkpoint.ts';
import type { HubEvent } from '../../files/hub/hub-events.ts';
import type { Pixels } from '../../files/image/pixels.ts';
import type { MediaDecoders } from '../../files/media/decoders.ts';
import type { PageStore } from '../../files/pages/page-store.ts';
import type { PackedEntries, PackedFile, PackedOrigin } from '../../files/checkpoint/packed-file.ts';
import type { ByteSource, Folder } from '../../files/source.ts';
import type { AdapterSummary } from '../../gpu/adapter.ts';
import type { Device } from '../../gpu/device.ts';
import type { RankPlace } from '../../gpu/find-adapter.ts';
import type { TunedVariants } from '../../gpu/tuning.ts';
import type { LOADING } from '../../options/model.ts';
import type { SettingValues } from '../../options/setting.ts';
import type { Port } from './port.ts';

export interface Platform {
  /** Opens a device that knows the kernel variants which were tuned on its adapter before. */
  openDevice(
    options: Pick<
      SettingValues<typeof LOADING>,
      'adapter' | 'activationDtype' | 'deterministic' | 'memoryBudget' | 'safe'
    > & { place?: RankPlace },
  ): Promise<Device>;
  /** Stores the tuned kernel variants of an adapter for the devices that are opened on it later. */
  keepTuned(adapter: AdapterSummary, tuned: TunedVariants): Promise<void>;
  /** Finds the folder of a model, and downloads it where `model` is an id of the hub. */
  resolveModel(
    model: string,
    options: {
      revision?: string;
      component?: string;
      signal?: AbortSignal;
      onProgress?: (event: HubEvent) => void;
      mostBytes?: number;
      singleFiles?: boolean;
      inspect?: (
        path: string,
        files: readonly string[],
        open: (name: string) => Promise<ByteSource>,
      ) => Promise<void>;
    },
  ): Promise<{ path: string }>;
  /** Bytes of memory that the machine has; Infinity: unknown. */
  memory: number;
  openFolder(path: string): Promise<Folder>;
  /** Finds a folder, provided that it is one of the allowed folders or lies within one. */
  folderWithin(path: string, allowed: readonly string[]): Promise<{ path: string } | 'outside' | 'missing'>;
  /** Cache of packed weights; null: there is none. */
  packed: PackedCache | null;
  /** Opens the storage of KV pages that belong to a checkpoint; null: there is none. */
  openPageStore: ((options: PageStorageOptions) => Promise<PageStorage>) | null;
  /** Decoders of images, videos and sounds that a model reads. */
  media: MediaDecoders;
  /** Decoders of the image files of a request for images. */
  images: ImageDecoders;
  /** Starts a thread for long texts or for grammars. `memory`: MiB that its heap may take. null: both are processed in this thread. */
  tokenizerThread: ((memory?: number) => Port) | null;
}

/** Each takes a file's bytes and the name of the parameter that held them, for messages. Errors: bad_request. */
export interface ImageDecoders {
  /** Transparent parts become white. */
  image(bytes: Uint8Array, name: string): Promise<Pixels>;
  /** Grey; transparent parts become black. */
  mask(bytes: Uint8Array, name: string): Promise<Pixels>;
}

export interface PageStorageOptions {
  /** `file`, the path of a folder, or a redis:// URL. */
  where: string;
  /** Limit on the stored bytes. */
  most: number;
  checkpoint: Pick<Checkpoint, 'path' | 'shards' | 'beside'>;
  /** Everything other than the weights that determines the bytes of a page. */
  computed: string;
  onTrouble(message: string): void;
}

export interface PageStorage extends PageStore {
  /** Returns the name of the page with these tokens that follows the page named `before`. */
  name(before: string | null, scope: string, tokens: string): string;
}

export interface PackedCache {
  /** Returns the slot for one version of a checkpoint's files, one quantization and one packed layout. */
  slot(origin: PackedOrigin): Promise<PackedSlot>;
}

export interface PackedSlot {
  /** Returns null if the cache has no matching entry. */
  read(): Promise<PackedFile | null>;
  write(entries: PackedEntries): Promise<void>;
  /** Removes the entry, which must be closed. */
  remove(): Promise<void>;
}
