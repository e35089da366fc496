/**
 * Help text and labels of the metrics read on request. A name that ends in `_total` only goes up.
 */

export const METRIC_TEXTS = {
  exchange_commands_total: ['Commands, by kind and result', 'kind', 'code'],
  exchange_batch_operations_total: ['Batch operations, by kind and result', 'kind', 'code'],
  exchange_http_answers_total: ['Answers, by route and status', 'method', 'route', 'status'],
  exchange_event_loop_delay_seconds: [
    'Event loop delay over the last one to two minutes',
    'quantile',
  ],
  exchange_memory_bytes: ['Memory used by the process', 'kind'],
  exchange_open_descriptors: 'Open files and connections of the process',
  exchange_cpu_seconds_total: ['CPU time of the process', 'mode'],
  exchange_sequence: 'Sequence of the last applied command',
  exchange_durable_sequence: 'Sequence of the last durable command',
  exchange_backlog_commands: 'Applied commands that are not yet durable',
  exchange_backlog_bytes: 'Bytes of applied commands that are not yet durable',
  exchange_commit_wait_seconds: 'Time that the current commit has taken so far',
  exchange_journal_log_bytes: "Size of the journal's -wal file, in bytes",
  exchange_waiting_answers: 'Answers and messages waiting for the disk',
  exchange_halted: '1 if trading is halted',
  exchange_pauses: 'Pauses in force, of everything, assets or markets',
  exchange_users: 'Accounts',
  exchange_limit_used: ['Use of each limit that all users share, by limit name', 'limit'],
  exchange_limit_maximum: ['Maximum of each limit that all users share, by limit name', 'limit'],
  exchange_follower_lag_commands: 'Durable commands that the follower has not applied',
  exchange_follower_lag_seconds:
    'Age of the oldest durable command that the follower has not applied',
  exchange_follower_retrying: [
    '1 while this part of the derived data is failing and being retried',
    'part',
  ],
  exchange_follower_failures_total: ['Failures to derive this part from the journal', 'part'],
  exchange_prices_total: ['Prices, by source', 'source'],
  exchange_price_age_seconds: ["Age of an asset's last price, by source", 'asset', 'source'],
  exchange_prices_held: 'Assets whose prices are held back by the guard',
  exchange_feed_live: ['1 if the connection to the source has delivered a price', 'source'],
  exchange_feed_connections_total: ['Attempted connections to a source', 'source'],
  exchange_feed_malformed_total: ['Malformed messages and prices from a source', 'source'],
  exchange_feed_refusals_total: ['Connections refused by a source', 'source'],
  exchange_connections: ['Open connections', 'kind'],
  exchange_stream_subscriptions: ['Stream subscriptions', 'channel'],
  exchange_stream_backlog_bytes: 'Bytes waiting to be read by stream clients',
  exchange_stream_kept_characters: 'Characters of messages kept for resume',
  exchange_edge_waiting_bytes: ["Bytes waiting for space in the edges' rings", 'to'],
  exchange_stream_replays_waiting: 'Resumes waiting for the journal',
  exchange_stream_replay_bytes: 'Bytes of journal messages held for resumes',
  exchange_stream_closed_total: ['Stream connections closed by the exchange', 'reason'],
  exchange_sign_ins_waiting: 'Passwords waiting to be hashed',
  exchange_calls_under_way: 'Requests in flight',
  exchange_unsent_answers: 'Answers not fully read by their clients',
  exchange_unsent_answer_bytes: 'Bytes of unread answers, as counted against the limits',
  exchange_unsent_answers_dropped_total: [
    'Answers dropped, with their connections, because clients did not read them',
    'limit',
  ],
  exchange_rate_limited_total: ['Requests refused by rate limits', 'quota', 'party'],
  exchange_overload_refused_total: ['Requests refused because the disk was behind', 'kind'],
  exchange_connections_refused_total: ['Connections refused', 'limit'],
  exchange_sign_ins_refused_total:
    'Passwords not hashed, because the wait was too long or the exchange stopped',
  exchange_slow_bodies_total: 'Requests whose body did not arrive in time',
  exchange_info: ['Always 1, with the version of the program as a label', 'version'],
  exchange_leader: '1 if this process leads, 0 if it is a replica',
  exchange_epoch: "The leader's epoch, for a journal on PostgreSQL",
  exchange_standbys: 'Standbys ready to take over from this leader',
  exchange_journal_copies_needed:
    'PostgreSQL copies that must confirm a commit before it is acknowledged',
  exchange_journal_copies: [
    '1 if this copy of the journal is connected to the primary, 0 if it is missing',
    'name',
  ],
  exchange_snapshot_sequence: 'Sequence of the newest usable snapshot',
  exchange_backup_sequence: 'Last sequence in the last backup',
  exchange_backup_age_seconds: 'Time since the last backup',
  exchange_disk_free_bytes: 'Free bytes on the disk of the data folder',
  exchange_disk_used_bytes: [
    'Disk space used by the data folder, in bytes, by kind of file',
    'part',
  ],
  exchange_segments: ['Journal segments, by place', 'place'],
  exchange_segments_unsealed: 'Full journal segments that are not sealed yet',
  exchange_journal_damaged:
    '1 if a part of the journal before the newest snapshot is damaged or missing',
  exchange_clock_ahead_seconds: "Seconds by which the exchange's clock is ahead of the machine's",
  exchange_replica_age_seconds: "Greatest possible age of this replica's state",
  exchange_forwarded_waiting: 'Requests waiting for the leader',
  exchange_forwarded_again_total:
    'Requests sent again to a new leader, because the previous leader did not answer',
} satisfies Record<string, string | [help: string, ...labels: string[]]>;

export type MetricName = keyof typeof METRIC_TEXTS;
