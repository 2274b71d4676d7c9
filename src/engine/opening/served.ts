// What a kind of model does for the life of a model, and what that life gives it: files are read once, parts are loaded onto each device, and
// one service answers requests on the device that is there. Opening, losing, reopening, sleeping and closing are the host's.

import type { Prose } from '../../files/message.ts';
import type { Device } from '../../gpu/device.ts';
import type { Platform } from '../platform/platform.ts';
import type { OpenEvent } from './open-event.ts';

/** The opening of a model. */
export interface Opening {
  /** Aborts when the opening is cancelled. */
  readonly signal: AbortSignal | undefined;
  /** Passes an event to the caller. Throws cancelled if the opening was cancelled. */
  readonly onEvent: (event: OpenEvent) => void;
  readonly note: (message: Prose) => void;
  /** Calls `giveBack` when the model is closed or its opening fails, before the functions that were deferred earlier. */
  defer(giveBack: () => Promise<void> | void): void;
}

/** The parts of a model that are lost with their device. */
export interface OnDevice {
  readonly device: Device;
}

/** Opens devices of a model and loads its parts onto them. */
export interface DeviceSource<P extends OnDevice> {
  /** `before`: the parts of the lost device; null when the model is opened for the first time. */
  openDevice(before: P | null): Promise<Device>;
  /** Loads the parts. Ends early if `onEvent` throws; the device is then destroyed. */
  load(device: Device, before: P | null, onEvent: (event: OpenEvent) => void): Promise<P>;
  /** Frees what the parts hold outside of their device. */
  unload?(parts: P): Promise<void>;
}

/** The device of a model that is open, whichever it is. */
export interface ServedDevice<P extends OnDevice> {
  /** The parts that were loaded last. Their device may be lost. */
  readonly parts: P;
  /** Number of devices that were opened to replace lost ones. */
  readonly restarts: number;
  readonly isClosed: boolean;
  /** Throws cancelled if the model is closed. */
  assertOpen(): void;
  /** Returns the parts on a device that is not known to be lost. Throws device_lost if a lost device cannot be replaced. */
  ready(): Promise<P>;
  /** Returns the reason why the device is lost; null if it works. To be called after an operation on the device has failed. */
  loss(): Promise<string | null>;
  /** As in Opening, which has ended. */
  readonly note: Opening['note'];
  defer: Opening['defer'];
}

/** What a model answers itself; its end, its sleep and its closing are the host's. */
export type Service<M> = Omit<M, 'ended' | 'asleep' | 'close' | typeof Symbol.asyncDispose>;

/** A model whose files are read. */
export interface ReadModel<M, P extends OnDevice = OnDevice> extends DeviceSource<P> {
  /** Begins to serve requests; called once, when the parts are loaded for the first time. */
  serve(device: ServedDevice<P>): Promise<Service<M>>;
}

/** Finds and reads the files of a model. Errors: model_not_found, bad_checkpoint, unsupported, bad_request, network, cancelled. */
export type ReadFiles<Options, M, P extends OnDevice = OnDevice> = (
  platform: Platform,
  options: Options,
  opening: Opening,
) => Promise<ReadModel<M, P>>;
