// A model in a page's worker, served to the proxy at the other end of a port. An uncaught error of the worker ends the model.

import { destroyDevices } from '../../gpu/browser.ts';
import type { Platform } from '../../engine/platform/platform.ts';
import { ModelHost } from '../thread/model-host.ts';
import type { ModelKind, SessionOptions } from '../kinds/model-kind.ts';
import type { AnyModel } from '../session/model.ts';
import type { Port } from '../../engine/platform/port.ts';

export function serveModel<Options extends SessionOptions, M extends AnyModel>(
  port: Port,
  { calls, open }: ModelKind<Options, M>,
  platform: Platform,
): void {
  const host = new ModelHost<Options, M>(port, {
    calls,
    open: (options, onEvent, signal) => open(platform, options, onEvent, signal),
    release: destroyDevices,
  });
  const fail = (event: ErrorEvent | PromiseRejectionEvent): void => {
    event.preventDefault();
    void host.fail('reason' in event ? event.reason : event.error);
  };
  self.addEventListener('error', fail);
  self.addEventListener('unhandledrejection', fail);
}
