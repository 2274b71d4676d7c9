// Folders of LoRAs: those of the options, which of them a request may name, and how one is opened and checked.

import { type Message, option, say, subject } from '../../../files/message.ts';
import { badRequest, EngineError, modelNotFound } from '../../../files/error.ts';
import { openLora, type LoraFile } from '../../../files/checkpoint/lora.ts';
import type { LoraBase } from '../../../files/gguf/lora.ts';
import type { Platform } from '../../platform/platform.ts';

export interface LoraFolderOptions {
  loraPaths: readonly string[];
  loraDir: string | undefined;
  /** Highest rank that a LoRA may have. */
  maxLoraRank: number;
  /** The model that the LoRAs are for. */
  base: LoraBase | null;
}

/** The option or field that names a folder, which errors about the folder are attributed to. */
export type FolderParam = 'lora' | 'path' | 'loraPaths' | 'loraDir';

export class LoraFolders {
  /** LoRAs from the option `lora`, which are loaded with the model. */
  readonly given: readonly { name: string; path: string }[];
  readonly #platform: Pick<Platform, 'openFolder' | 'folderWithin'>;
  readonly #options: LoraFolderOptions;
  /** Folders whose subfolders requests may name. */
  readonly #allowed: readonly string[];

  constructor(platform: Pick<Platform, 'openFolder' | 'folderWithin'>, options: LoraFolderOptions) {
    const { loraPaths, loraDir } = options;
    this.given = loraPaths.map(splitNamed);
    this.#platform = platform;
    this.#options = options;
    this.#allowed = [...(loraDir === undefined ? [] : [loraDir]), ...this.given.map(({ path }) => path)];
  }

  /**
   * Throws if `loraDir` is given and cannot be opened. Without this check, requests would only learn that there is no such LoRA.
   */
  async check(): Promise<void> {
    const { loraDir } = this.#options;
    if (loraDir === undefined) return;
    await this.#platform.openFolder(loraDir).catch((error: unknown) => {
      throw aboutFolder(error, 'loraDir');
    });
  }

  /** Throws if a folder of the options cannot be opened; called before the model is fetched. */
  async checkGiven(): Promise<void> {
    await this.check();
    for (const { path } of this.given) {
      await this.#platform
        .openFolder(path)
        .catch(notFound)
        .catch((error: unknown) => {
          throw aboutFolder(error, 'loraPaths');
        });
    }
  }

  async open(path: string): Promise<LoraFile> {
    const { maxLoraRank, base } = this.#options;
    const file = await openLora(await this.#platform.openFolder(path).catch(notFound), base);
    if (file.rank <= maxLoraRank) return file;
    await file.close();
    throw badRequest(
      say`${path} has rank ${file.rank}, ${option('maxLoraRank')} allows ${maxLoraRank}: raise it`,
      'maxLoraRank',
    );
  }

  /** Returns the folder that a request names; null if there is none. Throws bad_request for a path that is not allowed. */
  async find(lora: string): Promise<string | null> {
    const isPath = /[/\\]/.test(lora) || lora === '..' || lora === '.';
    const refuse = (problem: Message): EngineError =>
      badRequest(say`${subject('lora')} ${JSON.stringify(lora)} ${problem}`, 'lora');
    if (isPath && this.#allowed.length === 0)
      throw refuse(
        say`is a path, and none is allowed: start with ${option('loraDir')} or ${option('loraPaths')}`,
      );
    const found = await this.#platform.folderWithin(lora, this.#allowed);
    if (found === 'outside')
      throw refuse(say`lies outside the folders that ${option('loraDir')} and ${option('loraPaths')} allow`);
    return found === 'missing' ? null : found.path;
  }
}

/** Throws if a folder of LoRAs that the options name cannot be opened. */
export function checkLoraFolders(
  platform: Pick<Platform, 'openFolder' | 'folderWithin'>,
  { loraPaths = [], loraDir }: { loraPaths?: readonly string[]; loraDir?: string | undefined },
): Promise<void> {
  return new LoraFolders(platform, { loraPaths, loraDir, maxLoraRank: 0, base: null }).checkGiven();
}

/** Rethrows an error of opening a folder as model_not_found, whatever its reason. */
function notFound(cause: unknown): never {
  if (!(cause instanceof EngineError)) throw cause;
  throw modelNotFound(cause.message, undefined, cause);
}

/** Attributes an error about a folder to `param`; a damaged folder is a bad request if the request itself names it. */
export function aboutFolder(error: unknown, param: FolderParam): unknown {
  if (!(error instanceof EngineError)) return error;
  const { code } = error;
  if (!/^(bad_checkpoint|unsupported|model_not_found|bad_request)$/.test(code)) return error;
  const blamed = code === 'bad_checkpoint' && param === 'lora' ? 'bad_request' : code;
  return new EngineError(blamed, error, { param, cause: error });
}

/** NAME=PATH, or a path whose last segment is the name. */
function splitNamed(given: string): { name: string; path: string } {
  const at = given.indexOf('=');
  if (at > 0) return { name: given.slice(0, at), path: given.slice(at + 1) };
  const name = given
    .replace(/[/\\]+$/, '')
    .split(/[/\\]/)
    .at(-1)!;
  return { name, path: given };
}
