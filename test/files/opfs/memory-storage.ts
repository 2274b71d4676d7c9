// The storage of an origin in memory: a private file system with a quota, and locks over tabs. A tab that ends loses its locks and handles,
// as a closed page does.

import type { AccessHandle, OriginStorage } from '../../../src/files/opfs/storage.ts';
import { MemoryLocks } from './memory-locks.ts';

const failed = (name: string): DOMException => new DOMException(`stand-in: ${name}`, name);

interface Content {
  bytes: Uint8Array<ArrayBuffer>;
  lastModified: number;
  /** The tab with an access handle for writing. */
  openIn: MemoryTab | null;
  /** Number of access handles for reading. */
  readers: number;
}

type Entry = Content | Map<string, Entry>;

const isFolder = (entry: Entry | undefined): entry is Map<string, Entry> => entry instanceof Map;

export class MemoryStorage {
  quota = 2 ** 30;
  /** The quota that pages are told; browsers may name a larger one. */
  reportedQuota: number | null = null;
  /** Bytes that one write takes at most. */
  mostPerWrite = Infinity;
  readonly entries = new Map<string, Entry>();
  readonly locks = new MemoryLocks();
  /** A page may not use the file system, as in some private windows. */
  isRefused = false;

  tab(): MemoryTab {
    return new MemoryTab(this);
  }

  /** Paths of all files, with their sizes. */
  files(folder = this.entries, prefix = ''): Record<string, number> {
    const found: Record<string, number> = {};
    for (const [name, entry] of folder)
      if (isFolder(entry)) Object.assign(found, this.files(entry, `${prefix}${name}/`));
      else found[`${prefix}${name}`] = entry.bytes.length;
    return found;
  }

  content(path: string): Content {
    let entry: Entry | undefined = this.entries;
    for (const name of path.split('/')) entry = isFolder(entry) ? entry.get(name) : undefined;
    if (entry === undefined || isFolder(entry)) throw failed('NotFoundError');
    return entry;
  }

  get usage(): number {
    return Object.values(this.files()).reduce((sum, size) => sum + size, 0);
  }

  /** Replaces the bytes of a file. Throws QuotaExceededError. */
  put(content: Content, bytes: Uint8Array<ArrayBuffer>): void {
    const growth = bytes.length - content.bytes.length;
    if (growth > 0 && this.usage + growth > this.quota) throw failed('QuotaExceededError');
    content.bytes = bytes;
    content.lastModified = Date.now();
  }
}

export class MemoryTab implements OriginStorage {
  readonly #storage: MemoryStorage;
  readonly #handles = new Set<MemoryAccess>();

  constructor(storage: MemoryStorage) {
    this.#storage = storage;
  }

  async root(): Promise<FileSystemDirectoryHandle> {
    if (this.#storage.isRefused) throw failed('SecurityError');
    return new MemoryFolder(
      this.#storage,
      this,
      this.#storage.entries,
    ) as unknown as FileSystemDirectoryHandle;
  }

  async estimate(): Promise<StorageEstimate> {
    return { quota: this.#storage.reportedQuota ?? this.#storage.quota, usage: this.#storage.usage };
  }

  get locks(): OriginStorage['locks'] {
    return this.#storage.locks.of(this) as OriginStorage['locks'];
  }

  opened(handle: MemoryAccess): void {
    this.#handles.add(handle);
  }

  /** Ends the tab. */
  end(): void {
    for (const handle of this.#handles) handle.close();
    this.#storage.locks.end(this);
  }
}

class MemoryFolder {
  readonly kind = 'directory';
  readonly #storage: MemoryStorage;
  readonly #tab: MemoryTab;
  readonly #entries: Map<string, Entry>;

  constructor(storage: MemoryStorage, tab: MemoryTab, entries: Map<string, Entry>) {
    this.#storage = storage;
    this.#tab = tab;
    this.#entries = entries;
  }

  async *entries(): AsyncGenerator<[string, { kind: 'file' | 'directory' }]> {
    for (const [name, entry] of this.#entries) yield [name, { kind: isFolder(entry) ? 'directory' : 'file' }];
  }

  async getDirectoryHandle(name: string, { create = false } = {}): Promise<MemoryFolder> {
    let entry = this.#entries.get(name);
    if (entry === undefined && create) this.#entries.set(name, (entry = new Map()));
    if (entry === undefined) throw failed('NotFoundError');
    if (!isFolder(entry)) throw failed('TypeMismatchError');
    return new MemoryFolder(this.#storage, this.#tab, entry);
  }

  async getFileHandle(name: string, { create = false } = {}): Promise<MemoryFile> {
    let entry = this.#entries.get(name);
    if (entry === undefined && create) this.#entries.set(name, (entry = emptyContent()));
    if (entry === undefined) throw failed('NotFoundError');
    if (isFolder(entry)) throw failed('TypeMismatchError');
    return new MemoryFile(this.#storage, this.#tab, this.#entries, name, entry);
  }

  async removeEntry(name: string, { recursive = false } = {}): Promise<void> {
    const entry = this.#entries.get(name);
    if (entry === undefined) throw failed('NotFoundError');
    if (isFolder(entry) && entry.size > 0 && !recursive) throw failed('InvalidModificationError');
    if (isOpen(entry)) throw failed('NoModificationAllowedError');
    this.#entries.delete(name);
  }
}

const isOpen = (entry: Entry): boolean =>
  isFolder(entry) ? [...entry.values()].some(isOpen) : entry.openIn !== null || entry.readers > 0;

const emptyContent = (): Content => ({
  bytes: new Uint8Array(0),
  lastModified: Date.now(),
  openIn: null,
  readers: 0,
});

class MemoryFile {
  readonly kind = 'file';
  readonly #storage: MemoryStorage;
  readonly #tab: MemoryTab;
  readonly #folder: Map<string, Entry>;
  readonly #name: string;
  readonly #content: Content;

  constructor(
    storage: MemoryStorage,
    tab: MemoryTab,
    folder: Map<string, Entry>,
    name: string,
    content: Content,
  ) {
    this.#storage = storage;
    this.#tab = tab;
    this.#folder = folder;
    this.#name = name;
    this.#content = content;
  }

  async getFile(): Promise<File> {
    const { bytes, lastModified } = this.#content;
    return new File([bytes.slice()], this.#name, { lastModified });
  }

  async createSyncAccessHandle({ mode = 'readwrite' } = {}): Promise<AccessHandle> {
    const content = this.#content;
    const isReader = mode === 'read-only';
    if (content.openIn !== null || (!isReader && content.readers > 0))
      throw failed('NoModificationAllowedError');
    if (isReader) content.readers++;
    else content.openIn = this.#tab;
    const handle = new MemoryAccess(this.#storage, content, isReader);
    this.#tab.opened(handle);
    return handle;
  }

  async createWritable() {
    let text = '';
    return {
      write: async (more: string) => void (text += more),
      close: async () => this.#storage.put(this.#content, new TextEncoder().encode(text)),
      abort: async () => {},
    };
  }

  async move(name: string): Promise<void> {
    if (isOpen(this.#content) || this.#folder.has(name)) throw failed('NoModificationAllowedError');
    this.#folder.delete(this.#name);
    this.#folder.set(name, this.#content);
  }
}

class MemoryAccess implements AccessHandle {
  readonly #storage: MemoryStorage;
  readonly #content: Content;
  readonly #isReader: boolean;
  #isClosed = false;

  constructor(storage: MemoryStorage, content: Content, isReader: boolean) {
    this.#storage = storage;
    this.#content = content;
    this.#isReader = isReader;
  }

  read(target: Uint8Array<ArrayBuffer>, { at }: { at: number }): number {
    const bytes = this.#open().bytes.subarray(at, at + target.length);
    target.set(bytes);
    return bytes.length;
  }

  write(bytes: Uint8Array, { at }: { at: number }): number {
    const content = this.#open();
    const part = bytes.subarray(0, this.#storage.mostPerWrite);
    const whole = new Uint8Array(Math.max(content.bytes.length, at + part.length));
    whole.set(content.bytes);
    whole.set(part, at);
    this.#storage.put(content, whole);
    return part.length;
  }

  truncate(size: number): void {
    this.#storage.put(this.#open(), this.#content.bytes.slice(0, size));
  }

  getSize(): number {
    return this.#open().bytes.length;
  }

  flush(): void {
    this.#open();
  }

  close(): void {
    if (this.#isClosed) return;
    if (this.#isReader) this.#content.readers--;
    else this.#content.openIn = null;
    this.#isClosed = true;
  }

  #open(): Content {
    if (this.#isClosed) throw failed('InvalidStateError');
    return this.#content;
  }
}
