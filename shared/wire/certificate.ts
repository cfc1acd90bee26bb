/** One line of `GET /certificates`. Times are RFC 3339, in UTC. */
export type CertificateRecord = {
  /** The names that it is used for; empty if its files can't be used. */
  domains: string[];
  /**
   * `acme`: ordered and renewed automatically; `pushed`: POST /certificates; `applied`: by a controller, which renews it; `file`: from
   * the certificate directory; `internal`: from the internal authority.
   */
  source: 'acme' | 'pushed' | 'applied' | 'file' | 'internal';
  /** The controller of an `applied` certificate. */
  controller?: string;
  /** The issuer. This and the following members are null if there is no certificate. */
  issuer: string | null;
  /** Hexadecimal. */
  serial: string | null;
  not_before: string | null;
  not_after: string | null;
  /** null: Sluice does not renew it. */
  renew_at: string | null;
  /** Why there is no certificate, or no newer one. */
  last_error: string | null;
  next_try: string | null;
};
