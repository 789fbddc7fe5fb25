//! What C sees. The documentation of everything here is that of the header.

#![expect(unsafe_code, reason = "C hands over pointers and calls by names")]
#![allow(clippy::missing_safety_doc, reason = "the header says once what is asked of pointers")]

mod pointers;
mod result;
mod session;
mod status;
mod stream;
mod tensor;
mod text;

pub use result::{MsResult, ms_result_free, ms_result_output, ms_result_output_count, ms_result_sequence};
pub use session::{
    MsSession, ms_session_free, ms_session_input, ms_session_input_count, ms_session_open, ms_session_output,
    ms_session_output_count, ms_session_plan_json, ms_session_report_json, ms_session_run,
};
pub use status::MsStatus;
pub use stream::{ms_session_await, ms_session_end, ms_session_receive, ms_session_submit};
pub use tensor::{MsDataType, MsPort, MsTensor};
pub use text::{ms_last_error, ms_string_free, ms_version};
