// Ends the process immediately.

/**
 * Ends the process by the signal's default action: at once, with the status that shells show as 130 or 143. process.exit would wait
 * for threads that compute.
 */
export function endBy(signal: 'SIGINT' | 'SIGTERM'): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
