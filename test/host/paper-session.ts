// A session whose device computes nothing: it is lost when the test says so.

import { DeviceSession } from '../../src/host/session/device-session.ts';
import type { DeviceSource } from '../../src/engine/opening/served.ts';
import type { SessionOptions } from '../../src/host/kinds/kind-face.ts';
import type { ModelKind } from '../../src/host/kinds/model-kind.ts';
import type { AnyModel } from '../../src/host/session/model.ts';
import type { OpenEvent } from '../../src/engine/opening/open-event.ts';
import { Opening } from '../../src/host/session/opening.ts';
import { withResolvers } from '../../src/engine/async/resolvers.ts';
import type { Device } from '../../src/gpu/device.ts';

/** A device that counts how often it is destroyed, and the lost ones it replaced. */
export class PaperDevice {
  readonly nth: number;
  isLost = false;
  destroyed = 0;
  readonly #lost = withResolvers<string>();

  constructor(nth = 1) {
    this.nth = nth;
  }

  get lost(): Promise<string> {
    return this.#lost.promise;
  }

  lose(reason = 'the driver was reset'): void {
    this.isLost = true;
    this.#lost.resolve(reason);
  }

  async loss(): Promise<string | null> {
    return this.isLost ? this.lost : null;
  }

  destroy(): void {
    this.destroyed++;
    this.lose('destroyed');
  }
}

/** The parts of a fake model. */
export interface PaperParts {
  readonly device: Device;
  readonly paper: PaperDevice;
}

export interface PaperOptions extends Partial<Pick<DeviceSource<PaperParts>, 'load' | 'unload'>> {
  onEvent?: (event: OpenEvent) => void;
  signal?: AbortSignal;
  /** Called before a device is opened. */
  onDevice?: () => void | Promise<void>;
}

/** Opens such a session; `devices` has those that were opened for it, `log` what was given back. */
export async function openPaperSession<T>(
  { onEvent = () => {}, signal, onDevice, load, unload }: PaperOptions,
  use: (session: DeviceSession<PaperParts>, opening: Opening) => T,
): Promise<{ result: T; devices: PaperDevice[]; log: string[] }> {
  const devices: PaperDevice[] = [];
  const log: string[] = [];
  const result = await Opening.run(onEvent, signal, async (opening) => {
    opening.defer(() => void log.push('files'));
    const session = await DeviceSession.open<PaperParts>(opening, {
      async openDevice() {
        await onDevice?.();
        const paper = new PaperDevice(devices.length + 1);
        devices.push(paper);
        return paper as unknown as Device;
      },
      load: load ?? (async (device) => partsOn(device)),
      unload: unload ?? (async ({ paper }) => void log.push(`parts ${paper.nth}`)),
    });
    return use(session, opening);
  });
  return { result, devices, log };
}

export function partsOn(device: Device): PaperParts {
  return { device, paper: device as unknown as PaperDevice };
}

type Needed = 'calls' | 'sleep';

/** A kind of model without words, of which a test states what it uses. */
export function paperKind<Options extends SessionOptions, M extends AnyModel>(
  stated: Pick<ModelKind<Options, M>, Needed> & Partial<ModelKind<Options, M>>,
): ModelKind<Options, M> {
  const words = { article: 'a', noun: 'paper model', endpoint: '', opener: '', module: '' } as const;
  const engine = () => Promise.reject(new Error('the kind has no engine'));
  const paper = () => Promise.reject(new Error('the kind is not planned'));
  return { name: 'paper', ...words, check() {}, summary: () => [], engine, paper, ...stated };
}
