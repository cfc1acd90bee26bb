import type { Warnings } from '../alerts.ts';

/** The warnings of a data plane with which everything is well. */
export const NO_WARNINGS: Warnings = {
  targets_unconfirmed: [],
  settings: [],
  table_unsaved: [],
  cache_off: [],
  cache_disk: [],
  file_root: [],
  ports_closed: [],
  exposed_directory: [],
  access_log: [],
  traces: [],
  token_keys_stale: [],
  token_keys_missing: [],
  admin_certificate: [],
};
