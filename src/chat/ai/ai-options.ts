// Parts that all adapters of the AI SDK use: the provider's name, its options, aborts.

import type { SharedV3Warning } from '@ai-sdk/provider';
import { EngineError } from '../../files/error.ts';

export const PROVIDER = 'svc-engine';

/** Options of a call that are the engine's own. */
export function ownOptions(
  given: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined,
): Record<string, unknown> {
  return { ...given?.[PROVIDER] };
}

/** Calls run here, so that no header is sent. */
export const headerWarnings = (headers: object | undefined): SharedV3Warning[] =>
  Object.keys(headers ?? {}).some((name) => name.toLowerCase() !== 'user-agent')
    ? [{ type: 'unsupported', feature: 'headers', details: 'models run in this program, without HTTP' }]
    : [];

/** The error that the SDK knows an abort by; any other error is unchanged. */
export function sdkError(error: unknown, signal: AbortSignal | undefined): unknown {
  const isAbort = signal?.aborted === true && error instanceof EngineError && error.code === 'cancelled';
  return isAbort ? signal.reason : error;
}
