/** A head or trailers to send. `status` is that of a response, else 0; `pseudo` are the pseudo-header fields of a request. */
export type OutgoingHead = {
  readonly status: number;
  readonly pseudo: readonly string[] | null;
  readonly lines: string;
  readonly length: number;
};
