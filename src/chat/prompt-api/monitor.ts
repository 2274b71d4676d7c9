// Progress of a model that is opened for the Prompt API: events `downloadprogress` with the share that is there.

import type { OpenEvent } from '../../engine/opening/open-event.ts';

export class DownloadProgressEvent extends Event {
  /** 0 to 1. */
  readonly loaded: number;
  readonly total = 1;
  readonly lengthComputable = true;

  constructor(loaded: number) {
    super('downloadprogress');
    this.loaded = loaded;
  }
}

export class DownloadMonitor extends EventTarget {
  #last = -1;
  ondownloadprogress: ((event: DownloadProgressEvent) => void) | null = null;

  follow(event: OpenEvent): void {
    if (event.type === 'download' && event.totalBytes > 0) this.#tell(event.bytes / event.totalBytes);
  }

  /** The model is open: the first and the last share are told in any case. */
  finish(): void {
    if (this.#last < 0) this.#tell(0);
    this.#tell(1);
  }

  #tell(loaded: number): void {
    if (loaded <= this.#last) return;
    this.#last = loaded;
    const event = new DownloadProgressEvent(loaded);
    this.dispatchEvent(event);
    this.ondownloadprogress?.(event);
  }
}
