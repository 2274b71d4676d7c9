// A folder in which the server keeps what outlives a request. Files are written under temporary names and then renamed, so that each is
// whole or not there.

import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EngineError } from '../../index.ts';
import { badRequest } from '../../files/error.ts';

const PARTIAL = /^\.svc\.[\da-f-]{36}\.part$/;
/** Age from which a temporary file is left over from a server that was killed; writing takes far less. */
const LEFTOVER_AGE = 3_600_000;

export class KeptFolder {
  readonly path: string;
  /** What lies here, for the remedy where the disk is full. */
  readonly #nouns: string;

  private constructor(path: string, nouns: string) {
    this.path = path;
    this.#nouns = nouns;
  }

  /** Creates the folder if it is not there. Throws EngineError if files cannot be written in it. */
  static async open(path: string, nouns: string): Promise<KeptFolder> {
    const folder = new KeptFolder(path, nouns);
    try {
      await mkdir(path, { recursive: true });
      for (const name of await readdir(path)) {
        const file = join(path, name);
        const { mtimeMs } = (PARTIAL.test(name) && (await stat(file).catch(() => null))) || { mtimeMs: NaN };
        if (Date.now() - mtimeMs > LEFTOVER_AGE) await rm(file, { force: true });
      }
      const probe = folder.#partial();
      await writeFile(probe, '');
      await rm(probe);
    } catch (error) {
      throw folder.#unwritable(path, error);
    }
    return folder;
  }

  at(name: string): string {
    return join(this.path, name);
  }

  names(): Promise<string[]> {
    return readdir(this.path);
  }

  async save(name: string, content: string | Uint8Array): Promise<void> {
    const partial = this.#partial();
    try {
      await writeFile(partial, content, { flag: 'wx' });
      await rename(partial, this.at(name));
    } catch (error) {
      await rm(partial, { force: true });
      throw this.#unwritable(this.at(name), error);
    }
  }

  /** Writes at the end of a file. */
  async append(name: string, text: string): Promise<void> {
    await appendFile(this.at(name), text).catch((error: unknown) => {
      throw this.#unwritable(this.at(name), error);
    });
  }

  async remove(name: string): Promise<void> {
    await rm(this.at(name), { force: true });
  }

  #partial(): string {
    return this.at(`.svc.${randomUUID()}.part`);
  }

  #unwritable(path: string, cause: unknown): EngineError {
    const code = cause instanceof Error && 'code' in cause ? String(cause.code) : String(cause);
    if (code === 'ENOSPC' || code === 'EDQUOT')
      return new EngineError(
        'disk_full',
        `no space is left for ${path}: free some, or delete ${this.#nouns}`,
        { cause },
      );
    return badRequest(`${path} cannot be written (${code}): start the server with another --output-path`);
  }
}
