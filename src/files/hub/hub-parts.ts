// The bytes of one remote file, in order, from several connections at once.
//
// Parts are claimed front to back and wait in memory until their turn, so that the stored file is always a prefix of the complete file: its
// length is enough to resume, it is hashed while it is written, and other programs can continue it.
import { networkError } from '../error.ts';
import {
  open,
  transientOf,
  Transient,
  watchSilence,
  withRetries,
  type Session,
  type Watch,
} from './hub-http.ts';

interface RemoteFile {
  path: string;
  url: string;
  size: number;
}

/** The server sends bytes that differ from the listing. */
export class Corrupt extends Error {}

/** Admits `count` holders at a time, in order of arrival. */
export interface Slots {
  acquire(): Promise<() => void>;
}

export function makeSlots(count: number): Slots {
  let free = count;
  const queue: (() => void)[] = [];
  const release = (): void => {
    const next = queue.shift();
    if (next) next();
    else free++;
  };
  return {
    async acquire() {
      if (free > 0) free--;
      else await new Promise<void>((resolve) => queue.push(resolve));
      return release;
    },
  };
}

interface Part {
  /** The bytes wanted: start .. end - 1. */
  start: number;
  end: number;
  /** Bytes received so far, and those of them that are still in memory. */
  have: number;
  chunks: Uint8Array[];
  queued: number;
  done: boolean;
  failure: unknown;
}

interface Transfer {
  file: RemoteFile;
  session: Session;
  slots: Slots;
  onBytes: (count: number) => void;
  /** The URL after redirects, so that the hub gets one request per file instead of one per part. */
  direct: string | null;
  /** Whether the server honours ranges; null before the first response. */
  ranged: boolean | null;
  changed: Promise<void>;
  notify: () => void;
}

/** Yields the bytes from `from` to the end. Throws `Corrupt` if they differ from the listed file. */
export async function* orderedBytes(
  file: RemoteFile,
  from: number,
  session: Session,
  slots: Slots,
  onBytes: (count: number) => void,
): AsyncGenerator<Uint8Array> {
  const stop = new AbortController();
  const signal = session.signal ? AbortSignal.any([session.signal, stop.signal]) : stop.signal;
  const transfer: Transfer = {
    file,
    session: { ...session, signal },
    slots,
    onBytes,
    direct: null,
    ranged: null,
    changed: Promise.resolve(),
    notify: () => {},
  };
  renewSignal(transfer);
  const parts: Part[] = [];
  let next = from;

  const claim = (): void => {
    const end = Math.min(next + session.limits.partBytes, file.size);
    const part: Part = { start: next, end, have: 0, chunks: [], queued: 0, done: false, failure: undefined };
    parts.push(part);
    next = end;
    void fetchPart(transfer, part);
  };

  try {
    while (parts.length > 0 || next < file.size) {
      if (transfer.ranged === false) next = file.size; // the first part has grown to the whole file
      const wanted = transfer.ranged === true ? session.limits.partsAhead : 1;
      while (parts.length < wanted && next < file.size) claim();

      const head = parts[0];
      const chunk = head?.chunks.shift();
      if (head && chunk) {
        head.queued -= chunk.length;
        renewSignal(transfer);
        yield chunk;
      } else if (head?.done) {
        parts.shift();
      } else {
        const failed = parts.find((part) => part.failure !== undefined);
        if (failed) throw failed.failure;
        await transfer.changed;
      }
    }
  } finally {
    stop.abort();
    transfer.notify();
  }
}

/** Resolves the promise on which others wait for a change, and creates the next one. */
function renewSignal(transfer: Transfer): void {
  transfer.notify();
  transfer.changed = new Promise((resolve) => {
    transfer.notify = resolve;
  });
}

async function fetchPart(transfer: Transfer, part: Part): Promise<void> {
  let before = 0;
  try {
    await withRetries(
      transfer.session,
      transfer.file.path,
      async () => {
        const release = await transfer.slots.acquire();
        before = part.have;
        try {
          await readPart(transfer, part);
        } finally {
          release();
        }
      },
      () => part.have > before,
    );
    part.done = true;
  } catch (failure) {
    part.failure = failure;
  }
  renewSignal(transfer);
}

async function readPart(transfer: Transfer, part: Part): Promise<void> {
  const { file, session } = transfer;
  const at = part.start + part.have;
  // A page asks for the range of a whole file, too, because no server compresses a range.
  const isWhole = at === 0 && part.end === file.size && !session.inPage;
  const headers: Record<string, string> = isWhole ? {} : { range: `bytes=${at}-${part.end - 1}` };
  const watch = watchSilence(session);
  const requested = transfer.direct ?? file.url;
  try {
    const { response, url } = await open(session, requested, watch, { headers });
    let skip = 0;
    try {
      skip = judgeAnswer(response, { url, file, at, inPage: session.inPage });
    } catch (error) {
      await response.body?.cancel();
      throw error;
    }
    if (transfer.ranged === null) {
      transfer.ranged = response.status === 206 || part.end === file.size;
      if (!transfer.ranged) part.end = file.size;
      renewSignal(transfer);
    }
    transfer.direct = url;
    for await (const chunk of chunksOf(response)) {
      const from = Math.min(skip, chunk.length);
      skip -= from;
      const room = part.end - part.start - part.have;
      const isExcess = chunk.length - from > room;
      if (isExcess && part.end === file.size) throw new Corrupt('more bytes came than were listed');
      await store(transfer, part, chunk.subarray(from, from + room), watch);
      if (isExcess) break;
    }
    if (part.start + part.have < part.end) throw new Transient('the connection closed early');
  } catch (error) {
    // After a failure the URL is requested again, because signed URLs expire.
    if (transfer.direct === requested) transfer.direct = null;
    throw error instanceof Corrupt || error instanceof Refused ? error : transientOf(error, watch, session);
  } finally {
    watch.pause();
  }
}

/** Chunks of a body. Not every browser iterates over a stream itself. */
async function* chunksOf({ body }: Response): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    // The failure of a body that broke has been reported by read().
    await reader.cancel().catch(() => {});
  }
}

/** Stores a chunk, and pauses the connection while more than one part waits for the disk. */
async function store(transfer: Transfer, part: Part, bytes: Uint8Array, watch: Watch): Promise<void> {
  watch.feed();
  if (bytes.length === 0) return;
  part.chunks.push(bytes);
  part.have += bytes.length;
  part.queued += bytes.length;
  transfer.onBytes(bytes.length);
  renewSignal(transfer);
  while (part.queued > transfer.session.limits.partBytes && !transfer.session.signal?.aborted) {
    watch.pause();
    await transfer.changed;
    watch.feed();
  }
}

interface Asked {
  url: string;
  file: RemoteFile;
  at: number;
  inPage: boolean;
}

/** Checks the response against the listing; returns the number of leading bytes to skip, for a server that ignores ranges. */
function judgeAnswer(response: Response, { url, file, at, inPage }: Asked): number {
  const { status, headers } = response;
  if (status === 200) {
    const length = headers.get('content-length');
    // A page does not see whether the content is compressed.
    const isLength = length !== null && headers.get('content-encoding') === null && !inPage;
    if (isLength && Number(length) !== file.size) {
      throw new Corrupt(`the server has ${length} bytes of it, the listing says ${file.size}`);
    }
    return at;
  }
  if (status === 206) {
    // Servers that do not expose this header to pages are trusted until the content has been hashed.
    if (inPage && !headers.has('content-range')) return 0;
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+|\*)$/.exec(headers.get('content-range') ?? '') ?? [];
    if (total !== undefined && total !== '*' && Number(total) !== file.size) {
      throw new Corrupt(`the server has ${total} bytes of it, the listing says ${file.size}`);
    }
    if (start === undefined || Number(start) !== at)
      throw new Transient('the server sent another range than asked');
    return 0;
  }
  if (status === 416)
    throw new Corrupt(`the server has no bytes from ${at} on, the listing says ${file.size}`);
  if (new URL(url).origin !== new URL(file.url).origin)
    throw new Transient(`${new URL(url).host} answered ${status}`);
  if (status === 401 || status === 403) throw new Refused(status, headers);
  throw networkError(
    `${file.path}: ${new URL(url).host} answered ${status}; check the endpoint and the revision`,
  );
}

/** The hub denies access to the file: the token is missing or has no permission. */
export class Refused extends Error {
  readonly status: number;
  readonly headers: Headers;

  constructor(status: number, headers: Headers) {
    super(`status ${status}`);
    this.status = status;
    this.headers = headers;
  }
}
