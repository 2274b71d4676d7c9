// Tuned kernel variants in the private file system: one small JSON file per adapter and driver.

import { sha256 } from './text-hash.ts';
import { parseTuned, tunedFileName, tunedText, type TunedEntries, type TunedFor } from '../tuned-entries.ts';
import type { OriginStorage, PrivateFolder } from './storage.ts';

export class OpfsTuned {
  readonly #folder: PrivateFolder;
  readonly #locks: OriginStorage['locks'];

  /** `folder`: that of the tuned variants. */
  constructor({ locks }: OriginStorage, folder: PrivateFolder) {
    this.#folder = folder;
    this.#locks = locks;
  }

  /** Returns nothing if the file is missing or unreadable; the variants are then measured again. */
  async read(adapter: TunedFor): Promise<TunedEntries> {
    return parseTuned(await this.#folder.readText(fileOf(adapter)).catch(() => null));
  }

  /** Adds entries to the file. Errors of writing are ignored. */
  async add(adapter: TunedFor, entries: TunedEntries): Promise<void> {
    const file = fileOf(adapter);
    await this.#locks.request(`svc-engine tuned ${file}`, async () => {
      const all = { ...(await this.read(adapter)), ...entries };
      await this.#folder.writeText(file, tunedText(all)).catch(() => {});
    });
  }
}

const fileOf = (adapter: TunedFor): string => tunedFileName(adapter, sha256);
