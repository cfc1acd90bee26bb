import type { ClientIdentity } from '../client-identity.ts';

/** The part of an exchange that values may depend on: what is fixed once its policies decide. */
export type EvaluatedRequest = {
  readonly method: string;
  readonly target: string;
  readonly host: string;
  readonly hostField: string;
  /** The client's fields, as lines. */
  readonly fields: string;
  /** X-Forwarded-*, X-Request-ID …, as lines. */
  readonly forwarding: string;
  readonly secure: boolean;
  /** Normalized, without the query. */
  readonly path: string;
  /** Path and query for the upstream, so far. */
  readonly upstreamTarget: string;
  /** The user whose password was correct; null if none was checked. */
  readonly user: string | null;
  readonly client: {
    readonly address: string;
    facts(): {
      readonly protocol: string;
      readonly connection: {
        readonly address: string;
        readonly port: number | null;
        readonly tls: {
          readonly version: number;
          readonly serverName: string;
          readonly protocol: string;
          readonly client: ClientIdentity | null;
        } | null;
      };
    };
  };
};
