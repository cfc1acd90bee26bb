/** One line of `GET /certificates`. Times are RFC 3339, in UTC. */
export type CertificateRecord = {
  /** The names that it is used for; none where its files can't be used. */
  domains: string[];
  /** `acme`: ordered and renewed by itself; `pushed`: POST /certificates; `applied`: by a controller, which keeps it up to date; `file`: put into the certificate directory; `internal`: of our own authority. */
  source: 'acme' | 'pushed' | 'applied' | 'file' | 'internal';
  /** Which controller brought an `applied` one. */
  controller?: string;
  /** Who signed it. This and what follows is null while there is none. */
  issuer: string | null;
  /** Hexadecimal. */
  serial: string | null;
  not_before: string | null;
  not_after: string | null;
  /** null: it is not ours to renew. */
  renew_at: string | null;
  /** Why there is none, or none newer. */
  last_error: string | null;
  next_try: string | null;
};
