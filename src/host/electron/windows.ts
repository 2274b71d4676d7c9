// The engine for the app's windows: each port of a window is one model that it has opened, or one list of adapters. A window that closes aborts its
// requests and leaves its models.

import { ModelHost } from '../thread/model-host.ts';
import type { AnyModel } from '../session/model.ts';
import type { Port } from '../../engine/platform/port.ts';
import type { ToHost } from '../thread/wire-messages.ts';
import { WireCalls } from './calls.ts';
import { onWindowMessage } from './electron.ts';
import { ALL_KINDS } from '../kinds/kinds.ts';
import type { AnyKind } from '../kinds/model-kind.ts';
import { listAdapters } from './open-main.ts';
import { SharedModels } from './shared-models.ts';

/** Ports and what answers on them, kept reachable while their windows use them. */
const connected = new Map<Port, object>();
const models = new SharedModels();

/** Answers the windows whose preload script is svc-engine/electron/preload. */
export function serveWindows(): void {
  onWindowMessage((message, port) => {
    const kind = message.type === 'open' && ALL_KINDS.find(({ name }) => name === message.kind);
    const answering =
      message.type === 'adapters'
        ? new WireCalls(port, { adapters: listAdapters })
        : kind && hostOf(kind, port);
    if (!answering) return port.end?.();
    connected.set(port, answering);
    port.onLost(() => connected.delete(port));
  });
}

function hostOf(kind: AnyKind, port: Port): ModelHost<{ model: string }, AnyModel> {
  const listeners: ((message: unknown) => void)[] = [];
  port.onMessage((message) => listeners.forEach((listener) => listener(message)));
  const leave: ToHost = { type: 'leave', done: null };
  port.onLost(() => listeners.forEach((listener) => listener(leave)));
  const host = new ModelHost<{ model: string }, AnyModel>(
    { ...port, onMessage: (listener) => listeners.push(listener) },
    {
      calls: kind.calls,
      async open(options, onEvent, signal) {
        const model = await models.open(kind, options, onEvent, signal);
        void model.ended.then((reason) => host.fail(reason));
        return model;
      },
      release: () => {},
    },
  );
  return host;
}
