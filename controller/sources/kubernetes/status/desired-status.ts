import type { Resource } from '../api/resource.ts';
import type { Meta } from '../objects/meta.ts';

/** What a status may depend on besides the objects: known only once the data planes serve the snapshot. */
export type StatusContext = {
  /** The status on the API server; an empty object if there is none. */
  readonly current: Readonly<Record<string, unknown>>;
  /** Whether this controller wrote some of it, now or in an earlier life. */
  readonly isWritten: boolean;
  /** Where visitors reach the data planes, sorted; null while that is unknown. */
  readonly addresses: readonly PublishedAddress[] | null;
  /** Domains that a data plane refuses, or that another source has, and why. */
  readonly refused: ReadonlyMap<string, string>;
  /** The current time (RFC 3339, in whole seconds). */
  readonly now: string;
};

/** An address to publish. */
export type PublishedAddress = { readonly kind: 'ip' | 'hostname'; readonly value: string };

/** Where visitors reach the data planes. */
export type Publish =
  | { readonly kind: 'addresses'; readonly addresses: readonly PublishedAddress[] }
  | { readonly kind: 'service'; readonly namespace: string; readonly name: string };

/**
 * The status that an object should have. It is computed when the data planes serve the snapshot that it belongs to, and again when the
 * object's status changes, so that parts overwritten by others are restored.
 */
export type DesiredStatus = {
  /** Its `read` may ignore the status, which the store keeps unchanged. */
  readonly resource: Resource<unknown>;
  readonly meta: Meta;
  /**
   * The members of the status to set; null removes one, and the others stay as they are. A list is replaced as a whole, so it must contain
   * what others wrote into it (`parentsOf`). undefined: there is nothing to write. Must give equal values for equal arguments.
   */
  build(context: StatusContext): Readonly<Record<string, unknown>> | undefined;
};
