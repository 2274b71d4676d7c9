// An end of a connection between a caller and the thread of its model: a worker's port, or any other that posts and receives plain data.

export interface Port {
  post(message: unknown): void;
  onMessage(listener: (message: unknown) => void): void;
  /** Calls `listener` when the other side has ended. */
  onLost(listener: (error: Error) => void): void;
  /** Says whether something waits on the other side: while nothing does, it does not keep the process alive. */
  hold?(waits: boolean): void;
  /** Ends the other side at once, in the middle of what it does. */
  end?(): void;
}
