// A file that may be closed and is still read: after `close` it is open only while something reads it. What was read of its header stays
// valid, because a file of another size is refused.

import { badCheckpoint } from './error.ts';
import type { ByteSource, Folder } from './source.ts';

export class ReopenedSource implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #folder: Folder;
  #opened: Promise<ByteSource> | null;
  /** Whether the file stays open between readings. */
  #stays = true;
  #readings = 0;

  private constructor(folder: Folder, source: ByteSource) {
    this.name = source.name;
    this.size = source.size;
    this.#folder = folder;
    this.#opened = Promise.resolve(source);
  }

  /** Opens a file of a folder. */
  static async open(folder: Folder, name: string): Promise<ReopenedSource> {
    return new ReopenedSource(folder, await folder.open(name));
  }

  read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.#reading((source) => source.read(offset, length));
  }

  readInto(offset: number, target: Uint8Array<ArrayBuffer>): Promise<void> {
    return this.#reading((source) => source.readInto(offset, target));
  }

  /** Leaves the file open from its next reading on, until it is closed. */
  stayOpen(): void {
    this.#stays = true;
  }

  async close(): Promise<void> {
    this.#stays = false;
    await this.#closeIdle();
  }

  async #reading<T>(read: (source: ByteSource) => Promise<T>): Promise<T> {
    this.#readings++;
    try {
      return await read(await (this.#opened ??= this.#reopen()));
    } finally {
      this.#readings--;
      await this.#closeIdle();
    }
  }

  async #reopen(): Promise<ByteSource> {
    try {
      const source = await this.#folder.open(this.name);
      if (source.size === this.size) return source;
      await source.close();
      throw badCheckpoint(
        `${this.name} in ${this.#folder.path} had ${this.size} bytes when it was opened, and has ${source.size}: open the model again`,
        this.name,
      );
    } catch (error) {
      this.#opened = null; // a later reading tries again
      throw error;
    }
  }

  async #closeIdle(): Promise<void> {
    if (this.#stays || this.#readings > 0 || this.#opened === null) return;
    const opened = this.#opened;
    this.#opened = null;
    await (await opened).close();
  }
}

/** A folder whose files may be read after they were closed. `sources` are those that were opened. */
export class ReopenedFolder implements Folder {
  readonly path: string;
  readonly sources: ReopenedSource[] = [];
  readonly #folder: Folder;

  constructor(folder: Folder) {
    this.path = folder.path;
    this.#folder = folder;
  }

  names(): Promise<string[]> {
    return this.#folder.names();
  }

  async open(name: string): Promise<ReopenedSource> {
    const source = await ReopenedSource.open(this.#folder, name);
    this.sources.push(source);
    return source;
  }
}
