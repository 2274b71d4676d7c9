// Starts the module workers of a page, and says why a worker does not run: its script is of another origin, is not served, or is forbidden by
// a content security policy. Browsers report none of this with the error event, so the script is fetched once more to find the reason.

import { type EngineError, internalError, networkError, unsupported } from '../../files/error.ts';
import type { Port } from '../../engine/platform/port.ts';
import { portOfEnd } from './thread.ts';
import { isLife, untilDeath } from './worker-life.ts';

const REMEDY =
  'serve all files of svc-engine/dist/browser beside each other from the origin of the page, or use a bundler that finds workers';

export interface WorkerScript {
  /** Name of the script, without the ending; bundlers may add to it. */
  name: string;
  /** Address of the module that starts the worker. */
  base: string;
  /** Constructs the worker. The call stands where the worker is started, in the form that bundlers recognize. */
  create(): Worker;
  /** Remedy in the errors of a script that cannot be loaded. Default: the one for scripts on a web server. */
  remedy?: string;
}

/**
 * Starts a worker, and posts its first message. Errors: unsupported. `Port.onLost` tells why a script could not be loaded, and that a
 * worker failed or vanished.
 */
export function startWorker(script: WorkerScript, first: unknown, transfer: Transferable[]): Port {
  const worker = construct(script);
  worker.postMessage(first, transfer);
  return portOfWorker(worker, script);
}

function construct({ name, create, remedy = REMEDY }: WorkerScript): Worker {
  if (typeof Worker === 'undefined')
    throw unsupported(
      'dedicated workers, in which the engine runs, do not exist here: open models from a page or from a dedicated worker',
    );
  try {
    return create();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw unsupported(`the worker ${name} cannot be started (${reason}): ${remedy}`, undefined, cause);
  }
}

/** The port of a worker, for the thread that started it. */
function portOfWorker(worker: Worker, script: WorkerScript): Port {
  const violations = watchViolations(script);
  const listeners: ((error: EngineError) => void)[] = [];
  let isLoaded = false;
  let isOver = false;
  const end = (): void => {
    isOver = true;
    violations.stop();
    worker.terminate();
  };
  const lose = (error: EngineError): void => {
    if (isOver) return;
    end();
    for (const listener of listeners) listener(error);
  };
  worker.addEventListener('message', ({ data }) => {
    isLoaded = true;
    violations.stop();
    if (isLife(data))
      untilDeath(data).then(
        () => lose(failed('the browser has ended it')),
        () => {},
      );
  });
  worker.addEventListener('error', (event) => {
    event.preventDefault();
    if (event.message || isLoaded) lose(failed(event.message || 'its cause is not known', event.error));
    else void whyNotLoaded(script, violations).then(lose);
  });
  worker.addEventListener('messageerror', () => lose(failed('a message could not be read')));
  const port = portOfEnd(worker);
  return {
    ...port,
    onMessage: (listener) => port.onMessage((message) => isLife(message) || listener(message)),
    onLost: (listener) => void listeners.push(listener),
    end,
  };
}

function failed(reason: string, cause?: unknown): EngineError {
  return internalError(`a worker of the engine failed: ${reason}; open the model again`, undefined, cause);
}

interface Violations {
  /** The directives that forbade the script. */
  readonly directives: readonly string[];
  stop(): void;
}

/** Collects the violations of content security policies that concern the worker's script. */
function watchViolations({ name }: WorkerScript): Violations {
  const directives: string[] = [];
  const add = ({ blockedURI, effectiveDirective }: SecurityPolicyViolationEvent): void => {
    if (blockedURI.includes(name) || effectiveDirective === 'worker-src') directives.push(effectiveDirective);
  };
  const target: Pick<EventTarget, 'addEventListener' | 'removeEventListener'> =
    typeof document === 'undefined' ? globalThis : document;
  const listener = add as (event: Event) => void;
  target.addEventListener('securitypolicyviolation', listener);
  return { directives, stop: () => target.removeEventListener('securitypolicyviolation', listener) };
}

/** Returns the address that the browser asked for, or what it should be where the browser does not tell. */
function addressOf({ name, base }: WorkerScript): string {
  const asked = performance.getEntriesByType('resource').map((entry) => entry.name);
  const found = asked.findLast((address) => address.split('/').at(-1)!.startsWith(name));
  return found ?? new URL(`${name}.js`, base).href;
}

async function whyNotLoaded(script: WorkerScript, violations: Violations): Promise<EngineError> {
  const { remedy = REMEDY } = script;
  const url = addressOf(script);
  const response = await fetch(url, { cache: 'no-store' }).catch((cause: unknown) => cause as Error);
  const [directive] = violations.directives;
  if (directive !== undefined)
    return unsupported(
      `the content security policy of the page forbids the worker ${url} (${directive}): allow worker-src 'self'`,
    );
  const cannot = `the worker ${url} cannot be loaded`;
  if (response instanceof Error)
    return networkError(
      `${cannot} (${response.message}): check the connection, then open again`,
      undefined,
      response,
    );
  const type = response.headers.get('content-type') ?? 'nothing';
  if (!response.ok) return networkError(`${cannot}, its address answers ${response.status}: ${remedy}`);
  if (!type.includes('javascript'))
    return networkError(`${cannot}, it is served as ${type} instead of JavaScript: ${remedy}`);
  return networkError(
    `${cannot}, although it is served: a file beside it that it imports may be missing, or the browser may have no module workers; ${remedy}`,
  );
}
