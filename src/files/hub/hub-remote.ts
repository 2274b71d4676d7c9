// One file on the hub, read over HTTP ranges.
import { badCheckpoint, networkError } from '../error.ts';
import { assertRange, type ByteSource } from '../source.ts';
import { open, Transient, watched, withRetries, type Session } from './hub-http.ts';
import { accessError, type HubSource, type KnownFile, type Listing } from './hub-source.ts';

/** The first bytes of a file are fetched together: a header and its length, or a whole configuration. */
const FIRST_BYTES = 256 * 1024;

export interface Remote {
  id: string;
  name: string;
  url: string;
  size: KnownFile['size'];
}

export class RemoteFile implements ByteSource {
  readonly name: string;
  readonly size: number;
  readonly #source: HubSource;
  readonly #session: Session;
  readonly #remote: Remote;
  #first: Promise<Uint8Array<ArrayBuffer>> | null = null;

  constructor(source: HubSource, session: Session, remote: Remote) {
    this.name = remote.name;
    this.size = remote.size;
    this.#source = source;
    this.#session = session;
    this.#remote = remote;
  }

  async read(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    assertRange(this, offset, length);
    const first = Math.min(FIRST_BYTES, this.size);
    if (offset + length > first) return this.#fetch(offset, length);
    this.#first ??= this.#fetch(0, first);
    return (await this.#first).slice(offset, offset + length);
  }

  async readInto(offset: number, target: Uint8Array<ArrayBuffer>): Promise<void> {
    target.set(await this.read(offset, target.length));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #fetch(offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    if (length === 0) return Promise.resolve(new Uint8Array(0));
    const { name, id, url } = this.#remote;
    return withRetries(this.#session, name, () =>
      watched(this.#session, async (watch) => {
        const range = `bytes=${offset}-${offset + length - 1}`;
        const { response } = await open(this.#session, url, watch, { headers: { range } });
        if (response.status === 401 || response.status === 403)
          throw accessError(this.#source, id, response.status, false);
        if (response.status !== 206 && response.status !== 200)
          throw networkError(`${name}: ${new URL(url).host} answered ${response.status}`);
        return take(response, response.status === 206 ? 0 : offset, length, watch.feed);
      }),
    );
  }
}

/** Returns `length` bytes of a response after its first `skip` bytes; the rest is not read. */
async function take(
  response: Response,
  skip: number,
  length: number,
  feed: () => void,
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = new Uint8Array(length);
  const reader = response.body!.getReader();
  let at = -skip;
  try {
    while (at < length) {
      const { done, value } = await reader.read();
      if (done) throw new Transient('the answer ended early');
      feed();
      const from = Math.max(0, -at);
      if (from < value.length)
        bytes.set(value.subarray(from, Math.min(value.length, length - at)), at + from);
      at += value.length;
    }
    return bytes;
  } finally {
    await reader.cancel();
  }
}

/** A file of a listing, read over ranges. */
export async function openRemote(
  { source, session, id, revision, listing }: Listed,
  files: readonly KnownFile[],
  name: string,
): Promise<ByteSource> {
  const file = files.find(({ path }) => path === name);
  if (file === undefined) throw badCheckpoint(`${name} is missing from ${id}`, name);
  const url = source.fileUrl(id, revision, listing.commit, name);
  return new RemoteFile(source, session, { id, name, url, size: file.size });
}

interface Listed {
  source: HubSource;
  session: Session;
  id: string;
  revision: string;
  listing: Pick<Listing, 'commit'>;
}
