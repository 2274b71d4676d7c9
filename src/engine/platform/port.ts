// One end of a connection between a caller and the thread of its model: a worker's port, or any object that posts and receives
// plain data.

export interface Port {
  post(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  /** Calls `listener` when the other side has ended. */
  onLost(listener: (error: Error) => void): void;
  /** Sets whether a request waits for the other side; the connection keeps the process alive only then. */
  hold?(waits: boolean): void;
  /** Terminates the other side immediately. */
  end?(): void;
}
