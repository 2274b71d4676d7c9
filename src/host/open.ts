// Opens models of any kind: in this thread, for a caller in another one, and with a sleep while they are idle.

import { type Prose, noteOf, say } from '../files/message.ts';
import { modelName } from '../engine/opening/model-name.ts';
import type { OpenEvent } from '../engine/opening/open-event.ts';
import type { Platform } from '../engine/platform/platform.ts';
import type { Port } from '../engine/platform/port.ts';
import type { SessionOptions } from './kinds/kind-face.ts';
import type { ModelKind } from './kinds/model-kind.ts';
import { DeviceSession } from './session/device-session.ts';
import { localModel } from './session/local-model.ts';
import type { AnyModel } from './session/model.ts';
import { Opening } from './session/opening.ts';
import { openReplicas } from './session/replicas.ts';
import { letSleep } from './session/sleeping-model.ts';
import { ModelHost, type HostedModel } from './thread/model-host.ts';

/**
 * Opens a model in this thread. Errors: model_not_found, bad_checkpoint, unsupported, bad_request, no_adapter, out_of_memory, network;
 * device_lost where the device is lost meanwhile; cancelled where `signal` aborts.
 */
export async function openInline<Options extends SessionOptions, M extends AnyModel>(
  kind: ModelKind<Options, M>,
  platform: Platform,
  options: Options,
  onEvent: (event: OpenEvent) => void = () => {},
  signal?: AbortSignal,
): Promise<M> {
  const read = await kind.engine();
  return Opening.run(onEvent, signal, async (opening) => {
    const model = await read(platform, options, opening);
    const session = await DeviceSession.open(opening, model);
    return localModel<M>(await model.serve(session), session, kind.calls);
  });
}

/** Serves a model of this thread to the proxy at the other end of a port, which says when it is opened. */
export function serveKind<Options extends SessionOptions, M extends AnyModel>(
  port: Port,
  kind: ModelKind<Options, M>,
  platform: Platform,
  ending: Pick<HostedModel<Options, M>, 'release' | 'settle'>,
): ModelHost<Options, M> {
  const open: HostedModel<Options, M>['open'] = (options, onEvent, signal) =>
    openInline(kind, platform, options, onEvent, signal);
  return new ModelHost(port, { calls: kind.calls, open, ...ending });
}

/** Opens a model, or its replicas, by `open`; with `sleepAfter` it sleeps when it is idle, and the next request opens it again. */
export async function openSleeping<Options extends SessionOptions, M extends AnyModel>(
  kind: ModelKind<Options, M>,
  options: Options,
  onEvent: (event: OpenEvent) => void = () => {},
  signal: AbortSignal | undefined,
  openOne: (options: Options, giveUp?: AbortSignal) => Promise<M>,
): Promise<M> {
  const open = (giveUp?: AbortSignal): Promise<M> =>
    openReplicas(kind, options, (one) => openOne(one, giveUp));
  const model = await open(signal);
  const { sleepAfter: after } = options;
  if (after === undefined) return model;
  const note = (message: Prose): void => onEvent(noteOf(say`${modelName(options.model)}: ${message}`));
  return letSleep(model, { after, open, note, calls: kind.calls, ...kind.sleep(model, options) });
}
